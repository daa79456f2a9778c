import type { Writable } from 'node:stream';

type Done = (error?: Error | null) => void;

/** Copying that much costs less than one more piece in a gather-write. */
const COPIED_BYTES = 32 * 1024;
const BUFFER_BYTES = 64 * 1024;
const MAX_KEPT = 32;

/** Memory that is used again: a new buffer for each answer would be what the garbage collector is driven by. */
const kept: Buffer[] = [];

/** Small pieces on their way to a stream, which gets them as one; large ones go as they are. All stay in order. */
export class Gathered {
  readonly #target: Writable;
  #buffer: Buffer | undefined;
  #used = 0;
  /** Of these, what has gone out another way. */
  #gone = 0;
  #dones: Done[] = [];
  /** Whether the stream holds back what it has, so that it goes out together with what follows. */
  #held = false;

  constructor(target: Writable) {
    this.#target = target;
  }

  /** @param text of characters below 256 */
  text(text: string): void {
    const buffer = this.#room(text.length);
    if (buffer === undefined) return this.bytes(Buffer.from(text, 'latin1'));
    this.#used += buffer.write(text, this.#used, 'latin1');
  }

  /** @param done called once the bytes are not needed any more */
  bytes(bytes: Uint8Array, done?: Done): void {
    const buffer = bytes.length <= COPIED_BYTES ? this.#room(bytes.length) : undefined;
    if (buffer === undefined) {
      if (!this.#held) this.#target.cork();
      this.#held = true;
      this.#pass();
      this.#target.write(bytes, done);
      return;
    }
    buffer.set(bytes, this.#used);
    this.#used += bytes.length;
    if (done) this.onceOut(done);
  }

  /** @param done called when all that was put here until now has gone out, or never will */
  onceOut(done: Done): void {
    this.#dones.push(done);
  }

  /** Gives all that was gathered to the stream, which sends it. */
  flush(): void {
    this.#pass();
    if (this.#held) this.#target.uncork();
    this.#held = false;
  }

  /** As `flush`, but all that was gathered may go out past the stream, which has nothing to send then. @param send gives how many of the bytes it has sent */
  flushPast(send: (bytes: Uint8Array) => number): void {
    if (this.#buffer !== undefined && this.#target.writableLength === 0) {
      this.#gone += send(this.#buffer.subarray(this.#gone, this.#used));
    }
    this.flush();
  }

  #pass(): void {
    const [buffer, gone, used, dones] = [this.#buffer, this.#gone, this.#used, this.#dones];
    if (buffer === undefined && dones.length === 0) return;
    this.#buffer = undefined;
    this.#gone = 0;
    this.#used = 0;
    this.#dones = [];
    const out: Done = (error) => {
      if (buffer && kept.length < MAX_KEPT) kept.push(buffer);
      for (const done of dones) done(error);
    };
    if (gone > 0 && gone === used) process.nextTick(out);
    else this.#target.write(buffer?.subarray(gone, used) ?? '', out);
  }

  /** @returns undefined where so much does not fit any buffer */
  #room(bytes: number): Buffer | undefined {
    if (bytes > BUFFER_BYTES) return undefined;
    if (this.#buffer !== undefined && this.#used + bytes > BUFFER_BYTES) this.#pass();
    this.#buffer ??= kept.pop() ?? Buffer.allocUnsafeSlow(BUFFER_BYTES);
    return this.#buffer;
  }
}
