import { rm } from 'node:fs/promises';
import type { FairQueue } from '../../../platform/fair-queue.ts';
import { CHECKSUM_BLOCK_BYTES } from '../../rows/checksums.ts';
import { readAgain } from '../../rows/read-again.ts';
import type { ResultReader, ResultRecord, ResultWriter } from '../../result-store.ts';
import { decodeIndex, encodeIndex, indexBytes, type RowIndex, storedRowBytes } from '../../rows/row-index.ts';
import type { BufferPool } from './buffer-pool.ts';
import { asStoreError, closeFile, readInto, readRange, syncFile, writeAll } from './file-io.ts';
import type { OpenFile } from './open-files.ts';
import type { Block } from './read-ahead.ts';

const STREAM_BYTES = 256 * 1024;
/** Reads up to this size, the checksum blocks of a small page, include the rows after them. */
const SMALL_BYTES = 2 * CHECKSUM_BLOCK_BYTES;

export interface FileWriterDependencies {
  /** Renames the file and writes the record. */
  readonly publish: (record: ResultRecord) => Promise<ResultReader>;
  /** Called when the result is complete or its files are removed. */
  readonly onEnd: () => void;
}

/** Writes the rows of a result into a file. */
export class FileWriter implements ResultWriter {
  readonly #descriptor: number;
  readonly #part: string;
  readonly #parts: FileWriterDependencies;
  #position = 0;
  #open = true;
  /** The pending write. Only one, so that scanning continues during a write while a slow disk still slows down the engine. */
  #writing: Promise<void> = Promise.resolve();

  /**
   * @param part path of the file, open for writing and reading
   */
  constructor(descriptor: number, part: string, parts: FileWriterDependencies) {
    this.#descriptor = descriptor;
    this.#part = part;
    this.#parts = parts;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#settled();
    this.#writing = writeAll(this.#descriptor, bytes, this.#position);
    // The next call throws the error; without this handler it would be an unhandled rejection.
    this.#writing.catch(() => undefined);
    this.#position += bytes.length;
  }

  async seal(index: RowIndex): Promise<void> {
    await this.write(encodeIndex(index));
    await this.#settled();
    await syncFile(this.#descriptor).catch((error: unknown) => {
      throw asStoreError(error);
    });
  }

  read(from: number, to: number): AsyncIterable<Uint8Array> {
    return pieces(this.#descriptor, from, to);
  }

  async commit(record: ResultRecord): Promise<ResultReader> {
    await this.#close();
    try {
      const reader = await this.#parts.publish(record);
      this.#parts.onEnd();
      return reader;
    } catch (error) {
      throw asStoreError(error);
    }
  }

  async discard(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#close();
    // A file that cannot be removed now is removed at the next start.
    await rm(this.#part, { force: true }).catch(() => undefined);
    this.#parts.onEnd();
  }

  async #settled(): Promise<void> {
    try {
      await this.#writing;
    } catch (error) {
      throw asStoreError(error);
    }
  }

  async #close(): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    await closeFile(this.#descriptor);
  }
}

/** What the readers of a store share. */
export interface FileReaderDependencies {
  readonly pool: BufferPool;
  /** Limits the reads at once; the results take turns. A read takes its buffer when it begins, so that waiting reads take no memory. */
  readonly reads: Pick<FairQueue, 'run'>;
  readonly release: (file: OpenFile) => Promise<void>;
}

/** Reads the rows of one file. */
export class FileReader implements ResultReader {
  readonly record: ResultRecord;
  readonly #file: OpenFile;
  readonly #parts: FileReaderDependencies;
  readonly #buffers: Buffer[] = [];
  readonly #blocks: Block[] = [];
  #open = true;
  #reading = 0;
  #idle: (() => void) | undefined;

  constructor(file: OpenFile, parts: FileReaderDependencies) {
    this.record = file.cached.record;
    this.#file = file;
    this.#parts = parts;
  }

  get knownIndex(): RowIndex | undefined {
    return this.#file.cached.index;
  }

  readonly forget = (): void => this.#file.ahead.forget();

  async index(): Promise<RowIndex> {
    const { cached } = this.#file;
    const from = storedRowBytes(this.record);
    cached.index ??= await readAgain(this, async () =>
      decodeIndex(await this.#range(from, from + indexBytes(this.record)), this.record),
    );
    return cached.index;
  }

  async read(from: number, to: number): Promise<readonly Uint8Array[]> {
    return [to - from <= SMALL_BYTES ? await this.#small(from, to) : await this.#range(from, to)];
  }

  async *stream(from: number, to: number): AsyncIterable<Uint8Array> {
    for (let at = from; at < to; at += STREAM_BYTES) {
      yield await this.#tracked(() => readRange(this.#file.descriptor, at, Math.min(to, at + STREAM_BYTES)));
    }
  }

  async close(reuse = false): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    // The descriptor number of a closed file is reused: a pending read must not read from another file.
    if (this.#reading > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    for (const block of this.#blocks) this.#file.ahead.release(block, reuse);
    if (reuse) for (const buffer of this.#buffers) this.#parts.pool.give(buffer);
    await this.#parts.release(this.#file);
  }

  async #small(from: number, to: number): Promise<Uint8Array> {
    // Another reader may have read the block while this one waited.
    const block =
      this.#known(from, to) ?? (await this.#tracked(async () => this.#known(from, to) ?? this.#load(from, to)));
    return block.bytes.subarray(from - block.from, to - block.from);
  }

  /** The current block, if it contains the bytes. */
  #known(from: number, to: number): Block | undefined {
    const block = this.#file.ahead.find(from, to);
    if (block === undefined || this.#blocks.includes(block)) return block;
    block.users++;
    block.shared = true;
    this.#blocks.push(block);
    return block;
  }

  async #load(from: number, to: number): Promise<Block> {
    const { descriptor, ahead } = this.#file;
    const block = await ahead.load({ from, to }, storedRowBytes(this.record), (buffer, start, end) =>
      readInto(descriptor, buffer, start, end),
    );
    this.#blocks.push(block);
    return block;
  }

  #range(from: number, to: number): Promise<Uint8Array> {
    return this.#tracked(() => readInto(this.#file.descriptor, this.#buffer(to - from), from, to));
  }

  #buffer(bytes: number): Buffer {
    const buffer = this.#parts.pool.take(bytes);
    this.#buffers.push(buffer);
    return buffer;
  }

  async #tracked<T>(read: () => Promise<T>): Promise<T> {
    this.#reading++;
    try {
      return await this.#parts.reads.run(read, this.record.requestId);
    } catch (error) {
      throw asStoreError(error);
    } finally {
      if (--this.#reading === 0) this.#idle?.();
    }
  }
}

async function* pieces(descriptor: number, from: number, to: number): AsyncIterable<Uint8Array> {
  for (let at = from; at < to; at += STREAM_BYTES) {
    yield await readRange(descriptor, at, Math.min(to, at + STREAM_BYTES));
  }
}
