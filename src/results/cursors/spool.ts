import type { ResultWriter } from '../result-store.ts';
import type { RowIndex } from '../row-index.ts';
import { Gathered, type RowsSink } from '../submit.ts';

const NO_INDEX: RowIndex = { stride: 1, checkpoints: new Float64Array(0) };

/**
 * Buffers the rows of one engine response: in memory up to a limit, beyond it in an unpublished part of the store.
 * So the tables and exceptions at the end of the response are known before any row is sent, whatever its size.
 */
export class Spool implements RowsSink {
  readonly #maxBytes: number;
  readonly #begin: () => Promise<ResultWriter>;
  readonly #hold: (bytes: number) => void;
  #held: number;
  #pieces: Uint8Array[] = [];
  #bytes = 0;
  #writer: ResultWriter | undefined;
  #gathered: Gathered | undefined;

  /**
   * @param maxBytes maximum bytes in memory
   * @param begin opens the part of the store; called once, and only if the limit is exceeded
   * @param hold called with the change in reserved memory, in bytes; first with `maxBytes`
   */
  constructor(maxBytes: number, begin: () => Promise<ResultWriter>, hold: (bytes: number) => void) {
    this.#maxBytes = maxBytes;
    this.#begin = begin;
    this.#hold = hold;
    this.#held = maxBytes;
    hold(maxBytes);
  }

  /** Bytes of rows. */
  get bytes(): number {
    return this.#bytes;
  }

  async push(rows: Uint8Array): Promise<void> {
    this.#bytes += rows.length;
    if (this.#gathered === undefined && this.#bytes <= this.#maxBytes) {
      this.#pieces.push(Buffer.from(rows));
      return;
    }
    const gathered = this.#gathered ?? (await this.#spill());
    await gathered.push(rows);
  }

  async flush(): Promise<void> {
    await this.#gathered?.flush();
    // The rows are readable after this.
    await this.#writer?.seal(NO_INDEX);
    this.#setHeld(this.#writer === undefined ? this.#bytes : 0);
  }

  /** The rows, once `flush` has resolved. */
  rows(signal: AbortSignal): readonly Uint8Array[] | AsyncIterable<Uint8Array> {
    return this.#writer === undefined ? this.#pieces : this.#writer.read(0, this.#bytes, signal);
  }

  /** Deletes everything; may be called twice. Never throws. */
  async discard(): Promise<void> {
    this.#pieces = [];
    this.#setHeld(0);
    const writer = this.#writer;
    this.#writer = undefined;
    await writer?.discard();
  }

  #setHeld(bytes: number): void {
    this.#hold(bytes - this.#held);
    this.#held = bytes;
  }

  async #spill(): Promise<Gathered> {
    this.#writer = await this.#begin();
    this.#gathered = new Gathered(this.#writer);
    for (const piece of this.#pieces) await this.#gathered.push(piece);
    this.#pieces = [];
    return this.#gathered;
  }
}
