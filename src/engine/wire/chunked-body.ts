import { WireError } from './response-head.ts';

/** A line with the size of a chunk and its extensions; a line of the trailer. */
const MAX_LINE_BYTES = 4096;
const MAX_TRAILER_LINES = 64;
const SIZE = /^([0-9A-Fa-f]{1,12})[ \t]*(?:;.*)?$/;
const LF = 10;

type State = 'size' | 'data' | 'data-end' | 'trailer' | 'done';

/** Takes the body out of chunks (RFC 9112 section 7.1), wherever the pieces are cut that it comes in. */
export class ChunkedBody {
  #state: State = 'size';
  #left = 0;
  #line = '';
  #trailerLines = 0;

  get done(): boolean {
    return this.#state === 'done';
  }

  /**
   * Moves the body's bytes of a piece to its beginning: one piece goes on in one piece, however many chunks it held.
   * @returns how many bytes of the body there are now, and how many bytes were read
   * @throws {WireError}
   */
  compact(piece: Buffer): { readonly length: number; readonly read: number } {
    let at = 0;
    let length = 0;
    while (at < piece.length && this.#state !== 'done') {
      if (this.#state !== 'data') {
        at = this.#readLine(piece, at);
        continue;
      }
      const end = Math.min(piece.length, at + this.#left);
      piece.copyWithin(length, at, end);
      length += end - at;
      this.#left -= end - at;
      at = end;
      if (this.#left === 0) this.#state = 'data-end';
    }
    return { length, read: at };
  }

  /** Takes a line, or the beginning of one. @returns where to read on */
  #readLine(piece: Buffer, at: number): number {
    const feed = piece.indexOf(LF, at);
    const end = feed < 0 ? piece.length : feed;
    this.#line += piece.toString('latin1', at, end);
    if (this.#line.length > MAX_LINE_BYTES) throw new WireError('a line between the chunks of the answer is too long');
    if (feed < 0) return end;
    if (!this.#line.endsWith('\r')) throw new WireError('a line between the chunks of the answer does not end in CRLF');
    const line = this.#line.slice(0, -1);
    this.#line = '';
    this.#take(line);
    return feed + 1;
  }

  #take(line: string): void {
    if (this.#state === 'size') {
      const size = SIZE.exec(line)?.[1];
      if (size === undefined) throw new WireError('a chunk of the answer has no size');
      this.#left = Number.parseInt(size, 16);
      this.#state = this.#left === 0 ? 'trailer' : 'data';
    } else if (this.#state === 'data-end') {
      if (line !== '') throw new WireError('a chunk of the answer is longer than it says');
      this.#state = 'size';
    } else if (line === '') this.#state = 'done';
    else if (++this.#trailerLines > MAX_TRAILER_LINES) throw new WireError('the trailer of the answer is too long');
  }
}
