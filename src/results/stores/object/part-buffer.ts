/**
 * Splits bytes into parts of one size (the last one may be smaller) for multipart uploads. Returned parts are reused, because
 * new buffers would accumulate until the next garbage collection.
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

  /** Copies the bytes. @returns full parts; the caller returns them with `give` */
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

  /** The remaining bytes; empties the buffer. */
  take(): Buffer {
    const part = this.#buffer?.subarray(0, this.#length) ?? Buffer.alloc(0);
    this.#buffer = undefined;
    this.#length = 0;
    return part;
  }

  /** @param part a full part; no view of it may be in use */
  give(part: Buffer): void {
    this.#free.push(part);
  }
}
