import { isUtf8 } from 'node:buffer';
import { QueryError } from '../errors.ts';

/** Bytes of the longest character. */
const MAX_CHARACTER_BYTES = 4;
const NOTHING = Buffer.alloc(0);

/** Checks that bytes are UTF-8 while they arrive; a character may be split between two chunks. */
export class Utf8Check {
  /** The last character of the chunks so far, unless it is ASCII. */
  #last: Buffer = NOTHING;

  /** @throws {QueryError} bad-response */
  push(chunk: Uint8Array): void {
    let from = 0;
    while (this.#last.length > 0 && from < chunk.length && isContinuation(chunk[from] as number)) {
      if (this.#last.length === MAX_CHARACTER_BYTES) throw notUtf8();
      this.#last = Buffer.concat([this.#last, chunk.subarray(from, ++from)]);
    }
    if (from === chunk.length) return;
    this.end();
    const to = lastCharacter(chunk, from);
    if (!isUtf8(chunk.subarray(from, to))) throw notUtf8();
    this.#last = to === chunk.length ? NOTHING : Buffer.from(chunk.subarray(to));
  }

  /** No further bytes follow. @throws {QueryError} bad-response */
  end(): void {
    if (this.#last.length > 0 && !isUtf8(this.#last)) throw notUtf8();
    this.#last = NOTHING;
  }
}

/** Where the last character begins; the end of the chunk if it is ASCII or if no character begins near the end. */
function lastCharacter(chunk: Uint8Array, from: number): number {
  let at = chunk.length - 1;
  while (at > from && chunk.length - at < MAX_CHARACTER_BYTES && isContinuation(chunk[at] as number)) at--;
  return (chunk[at] as number) >= 0xc0 ? at : chunk.length;
}

function isContinuation(byte: number): boolean {
  return (byte & 0xc0) === 0x80;
}

function notUtf8(): QueryError {
  return new QueryError('bad-response', "the engine's response is not valid UTF-8");
}
