/** Limit of checkpoints per result; keeps an index at or below 512 KB. */
export const MAX_CHECKPOINTS = 65_536;

const BYTES_PER_CHECKPOINT = 8;

/** Byte offsets of every `stride`-th row from the start of the rows. */
export interface RowIndex {
  /** A power of two. */
  readonly stride: number;
  /** Offset of row 0, `stride`, 2·`stride`, … */
  readonly checkpoints: Float64Array;
}

/**
 * Collects row offsets in bounded memory: when full, every second checkpoint is dropped and the stride doubles. Finding a row
 * then requires scanning at most one stride, 1/65,536 of the result.
 */
export class RowIndexBuilder {
  readonly #max: number;
  #checkpoints: Float64Array;
  #length = 0;
  #stride = 1;

  constructor(max = MAX_CHECKPOINTS) {
    this.#max = max;
    this.#checkpoints = new Float64Array(Math.min(max, 256));
  }

  get stride(): number {
    return this.#stride;
  }

  /** Rows must be added in order; rows between checkpoints are ignored. */
  add(row: number, offset: number): void {
    if (row % this.#stride !== 0) return;
    if (this.#length === this.#max) {
      this.#thin();
      if (row % this.#stride !== 0) return;
    }
    if (this.#length === this.#checkpoints.length) this.#grow();
    this.#checkpoints[this.#length++] = offset;
  }

  build(): RowIndex {
    return { stride: this.#stride, checkpoints: this.#checkpoints.slice(0, this.#length) };
  }

  #thin(): void {
    const kept = Math.ceil(this.#length / 2);
    for (let i = 0; i < kept; i++) this.#checkpoints[i] = this.#checkpoints[2 * i] as number;
    this.#length = kept;
    this.#stride *= 2;
  }

  #grow(): void {
    const larger = new Float64Array(Math.min(this.#max, this.#checkpoints.length * 2));
    larger.set(this.#checkpoints);
    this.#checkpoints = larger;
  }
}

/** Little-endian doubles: exact up to 2^53, and the native format of all platforms that Node supports. */
export function encodeIndex(index: RowIndex): Uint8Array {
  return new Uint8Array(
    index.checkpoints.buffer,
    index.checkpoints.byteOffset,
    index.checkpoints.length * BYTES_PER_CHECKPOINT,
  );
}

/** @param bytes from `encodeIndex`; copied because a Float64Array must be aligned */
export function decodeIndex(bytes: Uint8Array, stride: number): RowIndex {
  const aligned = new Uint8Array(bytes.length);
  aligned.set(bytes);
  return { stride, checkpoints: new Float64Array(aligned.buffer, 0, bytes.length / BYTES_PER_CHECKPOINT) };
}
