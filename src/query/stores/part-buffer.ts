/** Gathers bytes into parts of one size, the last one smaller: what multipart uploads are made of. */
export class PartBuffer {
  readonly #partBytes: number;
  #buffer: Buffer;
  #length = 0;

  constructor(partBytes: number) {
    this.#partBytes = partBytes;
    this.#buffer = Buffer.allocUnsafeSlow(0);
  }

  get length(): number {
    return this.#length;
  }

  /** Copies the bytes; @returns the parts that became full, which are the caller's from then on. */
  push(bytes: Uint8Array): Buffer[] {
    const full: Buffer[] = [];
    let from = 0;
    while (from < bytes.length) {
      if (this.#buffer.length === 0) this.#buffer = Buffer.allocUnsafeSlow(this.#partBytes);
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
    const part = this.#buffer.subarray(0, this.#length);
    this.#buffer = Buffer.allocUnsafeSlow(0);
    this.#length = 0;
    return part;
  }
}
