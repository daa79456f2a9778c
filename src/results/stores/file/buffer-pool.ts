const SMALLEST = 64 * 1024;
const LARGEST = 8 * 1024 * 1024;
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/**
 * Pool of large buffers. A new buffer for each page costs several times as much: the system clears its memory, and
 * the garbage collector runs more often.
 */
export class BufferPool {
  readonly #kept = new Map<number, Buffer[]>();
  #keptBytes = 0;

  /** @returns a buffer of at least that size, with undefined content */
  take(bytes: number): Buffer {
    const size = sizeFor(bytes);
    const buffer = this.#kept.get(size)?.pop();
    if (buffer === undefined) return Buffer.allocUnsafeSlow(size);
    this.#keptBytes -= size;
    return buffer;
  }

  /** @param buffer from `take`; no view of it may be in use */
  give(buffer: Buffer): void {
    const size = buffer.length;
    if (size !== sizeFor(size) || size > LARGEST || this.#keptBytes + size > MAX_KEPT_BYTES) return;
    const kept = this.#kept.get(size);
    if (kept === undefined) this.#kept.set(size, [buffer]);
    else kept.push(buffer);
    this.#keptBytes += size;
  }
}

function sizeFor(bytes: number): number {
  if (bytes > LARGEST) return bytes;
  let size = SMALLEST;
  while (size < bytes) size *= 2;
  return size;
}
