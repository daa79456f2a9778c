import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { HeadReader, type PlainHead } from './head.ts';
import type { Lane } from './lane.ts';
import { type ConnectionTimes, DirectResponse } from './response.ts';
import type { FileSender } from './file-sender.ts';

/** The rest of a request that came in two packets is there by then; what is slower goes the long way. */
const REST_MS = 20;
/** Larger requests are none that a lane takes. */
const MAX_REQUEST_BYTES = 1024 * 1024 + 16 * 1024;
/** For a connection that never asks anything: as Node's own. */
const FIRST_REQUEST_MS = 60_000;

/** What connections share. */
export interface ConnectionParts {
  readonly lanes: readonly Lane[];
  readonly times: ConnectionTimes;
  /** Hands a socket to Node's own server, which listens to it from then on. */
  readonly accept: (socket: Socket) => void;
  /** Files are read and written where absent. */
  readonly fileSender: FileSender | undefined;
  /** Whether nothing more should be taken. */
  readonly closing: () => boolean;
  /** Told of what a lane throws. */
  readonly onDefect: (error: unknown) => void;
  /** Told whenever what was under way here is over, or with Node's server. */
  readonly released: () => void;
}

/**
 * - `free`: nothing is under way.
 * - `gathering`: the beginning of a request is there.
 * - `lane`: a lane answers.
 * - `framework`: Node's server has a request, and it is known where that ends.
 * - `given`: Node's server has the connection for good.
 */
type State = 'free' | 'gathering' | 'lane' | 'framework' | 'given';

/**
 * One connection of a client. Whole plain requests are shown to the lanes; all other bytes go to Node's own HTTP server, which gets to know the connection
 * with the first of them. It is asked again for the next request only where it is certain that Node's parser stands between two requests:
 * otherwise a body could be taken for a request.
 */
export class FrontConnection {
  readonly socket: Socket;
  readonly #parts: ConnectionParts;
  readonly #heads = new HeadReader();
  #state: State = 'free';
  /** What is there of a request that is not whole, or must wait. */
  readonly #gathered: Buffer[] = [];
  #rest: NodeJS.Timeout | undefined;
  #response: DirectResponse | undefined;
  /** Takes bytes for Node's parser; undefined while that knows nothing of the connection. */
  #feed: ((bytes: Buffer) => void) | undefined;
  /** Bytes that the request under way is still short of. */
  #missing = 0;

  constructor(socket: Socket, parts: ConnectionParts) {
    this.socket = socket;
    this.#parts = parts;
    socket.setTimeout(FIRST_REQUEST_MS);
    socket.on('data', this.#onData).on('end', this.#onEnd).on('timeout', this.#onTimeout).on('error', ignore);
    socket.once('close', this.#onClose);
  }

  /** Whether something is under way on it that Node's server knows nothing of. */
  get busy(): boolean {
    return this.#state === 'lane' || this.#state === 'gathering';
  }

  /** Whether Node's server knows of it. */
  get shared(): boolean {
    return this.#feed !== undefined;
  }

  /** To be told of each request that Node's server reads from this connection. */
  onRequest(request: IncomingMessage, response: ServerResponse): void {
    if (this.#state !== 'framework') return;
    response.once('close', () => {
      if (this.#state !== 'framework') return;
      // An answer before the end of its request: who knows what comes behind.
      if (this.#missing === 0 && request.complete && response.writableFinished) this.#state = 'free';
      else this.#give();
    });
  }

  /** Closes it where nothing is under way. A client that does not end its side is not waited for. */
  closeIdle(): void {
    if (this.#state === 'free') this.socket.destroySoon();
  }

  readonly #onData = (chunk: Buffer): void => {
    if (this.#state === 'framework') {
      this.#missing -= chunk.length;
      if (this.#missing < 0) this.#give();
      this.#feed?.(chunk);
    } else if (this.#state === 'lane') {
      // The next request before the answer to this one: it waits.
      this.#gathered.push(chunk);
      this.socket.pause();
    } else if (this.#state === 'gathering') this.#gather(chunk);
    else this.#read(chunk);
  };

  /** @param bytes all that is there of the next request */
  #read(bytes: Buffer): void {
    // The end of the connection is on its way: what comes now could be served, but not answered.
    if (!this.socket.writable) return;
    const head = this.#parts.closing() ? null : this.#heads.read(bytes);
    if (head === null) return this.#giveWith(bytes);
    const length = head === undefined ? 0 : head.length + head.contentLength;
    // More than one request at once.
    if (head !== undefined && length < bytes.length) return this.#giveWith(bytes);
    if (head === undefined || (length > bytes.length && head.simple && length <= MAX_REQUEST_BYTES)) {
      this.#wait(bytes, head);
    } else if (!head.simple || length > bytes.length || !this.#offer(head, bytes)) {
      this.#lend(bytes, length - bytes.length);
    }
  }

  /** Waits a moment for the rest of a request. */
  #wait(bytes: Buffer, head: PlainHead | undefined): void {
    this.#gathered.push(bytes);
    this.#missing = head === undefined ? 0 : head.length + head.contentLength - bytes.length;
    if (this.#state === 'gathering') return;
    this.#state = 'gathering';
    this.#rest = setTimeout(() => this.#stopGathering(), REST_MS);
  }

  #gather(chunk: Buffer): void {
    this.#missing -= chunk.length;
    this.#gathered.push(chunk);
    if (this.#missing > 0) return;
    const bytes = this.#takeGathered();
    this.#read(bytes);
    if (this.#state === 'gathering') return;
    clearTimeout(this.#rest);
    this.#parts.released();
  }

  /** What is slow has the time-outs of Node's server. */
  #stopGathering(): void {
    if (this.socket.destroyed) return;
    const missing = this.#missing;
    const bytes = this.#takeGathered();
    if (missing > 0) this.#lend(bytes, missing);
    else this.#giveWith(bytes);
    this.#parts.released();
  }

  #takeGathered(): Buffer {
    const bytes = this.#gathered.length === 1 ? (this.#gathered[0] as Buffer) : Buffer.concat(this.#gathered);
    this.#gathered.length = 0;
    return bytes;
  }

  /** @returns whether a lane has taken it */
  #offer(head: PlainHead, bytes: Buffer): boolean {
    const { method, url, rawHeaders } = head;
    const body = bytes.subarray(head.length);
    const request = { method, url, rawHeaders, body, remoteAddress: this.socket.remoteAddress ?? '' };
    const { times, fileSender } = this.#parts;
    const response = new DirectResponse(this.socket, times, () => this.#release(), fileSender);
    this.#response = response;
    this.#state = 'lane';
    const longWay = (): void => {
      if (this.#response !== response || response.headersSent || this.socket.destroyed) return;
      this.#response = undefined;
      this.#lend(bytes, 0);
      this.#next();
    };
    try {
      if (this.#parts.lanes.some((lane) => lane.take(request, response, longWay))) return true;
    } catch (error) {
      this.#parts.onDefect(error);
      if (response.headersSent) {
        response.destroy();
        return true;
      }
    }
    this.#response = undefined;
    return false;
  }

  /** The lane is done. */
  #release(): void {
    this.#response = undefined;
    this.#state = 'free';
    const { idleMs } = this.#parts.times;
    if (this.socket.timeout !== idleMs) this.socket.setTimeout(idleMs);
    this.#next();
    this.#parts.released();
  }

  /** Takes what came in the meantime. */
  #next(): void {
    if (this.#gathered.length === 0) return;
    const bytes = this.#takeGathered();
    this.socket.resume();
    this.#onData(bytes);
  }

  /** Lets Node's server have one request. @param missing bytes of it that have not come yet */
  #lend(bytes: Buffer, missing: number): void {
    this.#state = 'framework';
    this.#missing = missing;
    this.#introduce();
    this.#feed?.(bytes);
  }

  #giveWith(bytes: Buffer): void {
    this.#introduce();
    const feed = this.#feed;
    this.#give();
    feed?.(bytes);
  }

  /** Makes the connection known to Node's server, but goes on to see its bytes first. */
  #introduce(): void {
    if (this.#feed) return;
    const { socket } = this;
    socket.off('data', this.#onData).off('end', this.#onEnd).off('timeout', this.#onTimeout).off('error', ignore);
    socket.setTimeout(0);
    this.#parts.accept(socket);
    const [feed, more] = socket.listeners('data') as ((bytes: Buffer) => void)[];
    if (feed === undefined || more !== undefined) throw new TypeError('the server listens in a way that is not known');
    socket.off('data', feed).on('data', this.#onData);
    this.#feed = feed;
  }

  /** Nothing is looked at here any more. */
  #give(): void {
    if (this.#state === 'given' || this.#feed === undefined) return;
    this.#state = 'given';
    this.socket.off('data', this.#onData).on('data', this.#feed);
  }

  readonly #onEnd = (): void => {
    // Whoever says no more listens no more either, for all that can be known, but to an answer that was given by then: Node's server thinks so, too.
    if (this.#state === 'free' || this.#response?.writableEnded === true) this.socket.end();
    else this.socket.destroy();
  };

  /** The answer that is under way has times of its own. */
  readonly #onTimeout = (): void => {
    if (!this.busy) this.socket.destroy();
  };

  readonly #onClose = (): void => {
    clearTimeout(this.#rest);
    this.#gathered.length = 0;
    this.#response?.abandon();
    this.#response = undefined;
  };
}

function ignore(): void {}
