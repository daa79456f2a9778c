import type { BufferPool } from './buffer-pool.ts';

/** What was read of a file around a small page: the pages behind it are likely to be asked for next. Its bytes do not change while it has users. */
export interface Block {
  readonly from: number;
  readonly bytes: Buffer;
  /** Belongs to the pool. */
  readonly buffer: Buffer;
  users: number;
  /** Still the block of its file. */
  current: boolean;
  /** Whether a user may still hold a view of it that was to be gone. */
  leaked: boolean;
}

/** Read at once for a small page. To ask another thread for it costs more than twice as much as to read it. */
const BLOCK_BYTES = 256 * 1024;

interface Range {
  readonly from: number;
  readonly to: number;
}
type Read<T> = (buffer: Buffer, from: number, to: number) => T;

/** The block of one file. */
export class ReadAhead {
  readonly #pool: BufferPool;
  #block: Block | undefined;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** The block that holds the bytes `from` to `to`; undefined where there is none. */
  find(from: number, to: number): Block | undefined {
    const block = this.#block;
    return block !== undefined && from >= block.from && to <= block.from + block.bytes.length ? block : undefined;
  }

  /**
   * Reads the block that begins with these bytes, for one user.
   * @param end of the file's rows
   * @param read fills the beginning of a buffer with the bytes of a range
   */
  async load(range: Range, end: number, read: Read<Promise<Buffer>>): Promise<Block> {
    const upTo = this.#upTo(range, end);
    const buffer = this.#pool.take(upTo - range.from);
    return this.#put(range.from, buffer, await read(buffer, range.from, upTo));
  }

  /** The same in place. */
  loadNow(range: Range, end: number, read: Read<Buffer>): Block {
    const upTo = this.#upTo(range, end);
    const buffer = this.#pool.take(upTo - range.from);
    return this.#put(range.from, buffer, read(buffer, range.from, upTo));
  }

  #upTo({ from, to }: Range, end: number): number {
    return Math.max(to, Math.min(end, from + BLOCK_BYTES));
  }

  #put(from: number, buffer: Buffer, bytes: Buffer): Block {
    const before = this.#block;
    this.#block = { from, bytes, buffer, users: 1, current: true, leaked: false };
    if (before !== undefined) {
      before.current = false;
      this.#give(before);
    }
    return this.#block;
  }

  /** @param reuse false where a view of the block may still be in use */
  release(block: Block, reuse: boolean): void {
    block.users--;
    if (!reuse) block.leaked = true;
    this.#give(block);
  }

  #give(block: Block): void {
    if (!block.current && block.users === 0 && !block.leaked) this.#pool.give(block.buffer);
  }
}
