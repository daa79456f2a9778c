import type { BufferPool } from './buffer-pool.ts';

/** Bytes read around a small page, because the next pages are likely requested next. They do not change while the block has users. */
export interface Block {
  readonly from: number;
  readonly bytes: Buffer;
  /** Owned by the pool. */
  readonly buffer: Buffer;
  users: number;
  /** Whether a reader used it that had not loaded it. */
  shared: boolean;
  /** Whether this is still the current block of its file. */
  current: boolean;
  /** Whether a closed user may still hold a view of the buffer. */
  leaked: boolean;
}

/** Size of a read for a small page: the cost of a read is mostly the thread switch, not the bytes. */
const BLOCK_BYTES = 256 * 1024;

interface Range {
  readonly from: number;
  readonly to: number;
}
type ReadFile = (buffer: Buffer, from: number, to: number) => Promise<Buffer>;

/** The read-ahead block of one file. */
export class ReadAhead {
  readonly #pool: BufferPool;
  #block: Block | undefined;

  constructor(pool: BufferPool) {
    this.#pool = pool;
  }

  /** The block if it contains the bytes `from` to `to`; otherwise undefined. */
  find(from: number, to: number): Block | undefined {
    const block = this.#block;
    return block !== undefined && from >= block.from && to <= block.from + block.bytes.length ? block : undefined;
  }

  /**
   * Reads the block that begins at `range.from` and acquires it for one user. It contains only the range while readers of different places
   * displace the blocks of each other: four times the bytes and the memory would serve nobody.
   * @param end size of the file's rows in bytes
   * @param read reads a range into the beginning of a buffer
   */
  async load(range: Range, end: number, read: ReadFile): Promise<Block> {
    const upTo = this.#upTo(range, end);
    const buffer = this.#pool.take(upTo - range.from);
    return this.#put(range.from, buffer, await read(buffer, range.from, upTo));
  }

  #upTo({ from, to }: Range, end: number): number {
    if (!this.#readsAhead(from)) return to;
    return Math.max(to, Math.min(end, from + BLOCK_BYTES));
  }

  /** Whether the block before was of use to others, or this one continues it. */
  #readsAhead(from: number): boolean {
    const before = this.#block;
    if (before === undefined || before.shared) return true;
    return from >= before.from && from <= before.from + before.bytes.length;
  }

  /** Drops the current block. Its users keep it. */
  forget(): void {
    const before = this.#block;
    if (before === undefined) return;
    this.#block = undefined;
    before.current = false;
    this.#give(before);
  }

  #put(from: number, buffer: Buffer, bytes: Buffer): Block {
    this.forget();
    this.#block = { from, bytes, buffer, users: 1, shared: false, current: true, leaked: false };
    return this.#block;
  }

  /** @param reuse false if a view of the block may still be in use */
  release(block: Block, reuse: boolean): void {
    block.users--;
    if (!reuse) block.leaked = true;
    this.#give(block);
  }

  #give(block: Block): void {
    if (!block.current && block.users === 0 && !block.leaked) this.#pool.give(block.buffer);
  }
}
