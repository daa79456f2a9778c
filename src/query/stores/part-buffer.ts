/**
 * Gathers bytes into parts of one size, the last one smaller: what multipart uploads are made of. Parts that are given back are filled again: new ones
 * would pile up until the garbage collector comes.
 */
export class PartBuffer {
  readonly #partBytes: number;
  readonly #free: Buffer[] = [];
  #buffer: Buffer | undefined;
  #length = 0;

  constructor(partBytes: number) {
    this.#partBytes = partBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Copies the bytes; @returns the parts that became full, which are the caller's until it gives them back */
  push(bytes: Uint8Array): Buffer[] {
    const full: Buffer[] = [];
    let from = 0;
    while (from < bytes.length) {
      this.#buffer ??= this.#free.pop() ?? Buffer.allocUnsafeSlow(this.#partBytes);
      const take = Math.min(bytes.length - from, this.#partBytes - this.#length);
      this.#buffer.set(bytes.subarray(from, from + take), this.#length);
      this.#length += take;
      from += take;
      if (this.#length === this.#partBytes) full.push(this.take());
    }
    return full;
  }

  /** What is left; empty afterwards. */
  take(): Buffer {
    const part = this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
    this.#buffer = undefined;
    this.#length = 0;
    return part;
  }

  /** @param part a full one, of which nobody holds a view any more */
  give(part: Buffer): void {
    this.#free.push(part);
  }
}
