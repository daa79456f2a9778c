const SMALLEST = 64 * 1024;
const LARGEST = 8 * 1024 * 1024;
const MAX_KEPT_BYTES = 32 * 1024 * 1024;

/**
 * Large buffers to use again. A new one for each page would be a megabyte of memory for the system to clear and, above all, for the
 * garbage collector to be driven by: pages would cost several times as much.
 */
export class BufferPool {
  readonly #kept = new Map<number, Buffer[]>();
  #keptBytes = 0;

  /** @returns at least that many bytes, with anything in them */
  take(bytes: number): Buffer {
    const size = sizeFor(bytes);
    const buffer = this.#kept.get(size)?.pop();
    if (buffer === undefined) return Buffer.allocUnsafeSlow(size);
    this.#keptBytes -= size;
    return buffer;
  }

  /** @param buffer from `take`, of which nobody holds a view any more */
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
