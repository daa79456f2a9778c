/** How much first() joins, bytes. */
const JOINED_BYTES = 64 * 1024;

interface Joined {
  readonly bytes: Buffer;
  /** Number of the lines. */
  readonly lines: number;
  /** Whether a part was written. */
  readonly begun: boolean;
}

/** Lines that wait to be written, in their order, with a limit on their bytes. A write may take a part of a line; the rest of it stays first. */
export class LineQueue {
  readonly #maxBytes: number;
  readonly #lines: Buffer[] = [];
  /** What first() returned; the rest of it after a partial write. */
  #first: Joined | undefined;
  #bytes = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  get isEmpty(): boolean {
    return this.#bytes === 0;
  }

  /** Whether a part of first() was written already. */
  get hasBegun(): boolean {
    return this.#first?.begun === true;
  }

  /** @returns false where the line was not added, because too many bytes wait */
  add(line: Buffer): boolean {
    if (this.#bytes > 0 && this.#bytes + line.length > this.#maxBytes) return false;
    this.#lines.push(line);
    this.#bytes += line.length;
    return true;
  }

  /** The bytes to write next; the same until some are removed. Not for an empty queue. */
  first(): Buffer {
    this.#first ??= this.#join();
    return this.#first.bytes;
  }

  /** Removes what was written of first(). */
  remove(written: number): void {
    if (this.#first === undefined) return;
    this.#bytes -= written;
    const { bytes, lines } = this.#first;
    if (written < bytes.length) {
      if (written > 0) this.#first = { bytes: bytes.subarray(written), lines, begun: true };
      return;
    }
    this.#lines.splice(0, lines);
    this.#first = undefined;
  }

  #join(): Joined {
    let [lines, size] = [0, 0];
    for (const line of this.#lines) {
      if (lines > 0 && size + line.length > JOINED_BYTES) break;
      lines++;
      size += line.length;
    }
    const [only] = this.#lines;
    const bytes = lines === 1 && only !== undefined ? only : Buffer.concat(this.#lines.slice(0, lines), size);
    return { bytes, lines, begun: false };
  }
}
