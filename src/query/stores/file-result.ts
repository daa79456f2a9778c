import { rm } from 'node:fs/promises';
import type { ResultReader, ResultRecord, ResultWriter, RowFile } from '../result-store.ts';
import { decodeIndex, encodeIndex, type RowIndex } from '../row-index.ts';
import type { BufferPool } from './buffer-pool.ts';
import { asStoreError, closeFile, readInto, readIntoNow, readRange, syncFile, writeAll } from './file-io.ts';
import type { OpenFile } from './open-files.ts';
import type { Block } from './read-ahead.ts';
import type { ReadPace } from './read-pace.ts';

const STREAM_BYTES = 256 * 1024;
const BYTES_PER_CHECKPOINT = 8;
/** Pages up to this size are read together with those behind them. */
const SMALL_BYTES = 64 * 1024;
/** What is larger is read by another thread however fast the disk is. */
const MAX_IN_PLACE_BYTES = 4 * 1024 * 1024;

/** Rows on their way into a file. */
export class FileWriter implements ResultWriter {
  readonly #descriptor: number;
  readonly #part: string;
  readonly #publish: (record: ResultRecord) => Promise<ResultReader>;
  #position = 0;
  #open = true;
  /** The write under way: one, so that scanning goes on while the disk works, and a slow disk still slows the engine. */
  #writing: Promise<void> = Promise.resolve();

  /**
   * @param part path of the file, open for writing and reading
   * @param publish renames the file and writes the record
   */
  constructor(descriptor: number, part: string, publish: (record: ResultRecord) => Promise<ResultReader>) {
    this.#descriptor = descriptor;
    this.#part = part;
    this.#publish = publish;
  }

  async write(bytes: Uint8Array): Promise<void> {
    await this.#settled();
    this.#writing = writeAll(this.#descriptor, bytes, this.#position);
    // Its failure is thrown by the next call; without this it would count as unhandled until then.
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
      return await this.#publish(record);
    } catch (error) {
      throw asStoreError(error);
    }
  }

  async discard(): Promise<void> {
    await this.#writing.catch(() => undefined);
    await this.#close();
    // What cannot be removed now is a leftover: it goes at the next start.
    await rm(this.#part, { force: true }).catch(() => undefined);
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

/** What a reader shares with the others of its store. */
export interface FileReaderParts {
  readonly pool: BufferPool;
  readonly pace: ReadPace;
  readonly release: (file: OpenFile) => Promise<void>;
}

/** The rows of one file. */
export class FileReader implements ResultReader {
  readonly record: ResultRecord;
  readonly #file: OpenFile;
  readonly #parts: FileReaderParts;
  readonly #buffers: Buffer[] = [];
  readonly #blocks: Block[] = [];
  #open = true;
  #reading = 0;
  #idle: (() => void) | undefined;

  constructor(file: OpenFile, parts: FileReaderParts) {
    this.record = file.cached.record;
    this.#file = file;
    this.#parts = parts;
  }

  get knownIndex(): RowIndex | undefined {
    return this.#file.cached.index;
  }

  async index(): Promise<RowIndex> {
    const { cached } = this.#file;
    const { rowBytes, stride, checkpoints } = this.record;
    cached.index ??= decodeIndex(await this.#range(rowBytes, rowBytes + checkpoints * BYTES_PER_CHECKPOINT), stride);
    return cached.index;
  }

  async read(from: number, to: number): Promise<readonly Uint8Array[]> {
    const ready = this.readNow(from, to);
    if (ready !== undefined) return [ready];
    return [to - from <= SMALL_BYTES ? await this.#small(from, to) : await this.#range(from, to)];
  }

  readNow(from: number, to: number): Uint8Array | undefined {
    const small = to - from <= SMALL_BYTES;
    const block = small ? this.#file.ahead.find(from, to) : undefined;
    if (block !== undefined) {
      if (!this.#blocks.includes(block)) {
        block.users++;
        this.#blocks.push(block);
      }
      return block.bytes.subarray(from - block.from, to - block.from);
    }
    if (!this.#parts.pace.inPlace || to - from > MAX_IN_PLACE_BYTES) return undefined;
    const { descriptor, ahead } = this.#file;
    const read = (buffer: Buffer, start: number, end: number): Buffer => readIntoNow(descriptor, buffer, start, end);
    return this.#inPlace(() =>
      small
        ? this.#viewOf(ahead.loadNow({ from, to }, this.record.rowBytes, read), to - from)
        : read(this.#buffer(to - from), from, to),
    );
  }

  get rowFile(): RowFile | undefined {
    const { pace } = this.#parts;
    if (!pace.inPlace) return undefined;
    const { descriptor } = this.#file;
    return {
      readNow: (from, to) => this.#inPlace(() => readIntoNow(descriptor, this.#buffer(to - from), from, to)),
      // The number of a closed descriptor may be that of another file.
      send: (from, to, by) => (pace.inPlace && this.#open ? this.#inPlace(() => by(descriptor, from, to)) : 0),
      readInto: async (buffer, from, to) => {
        if (!this.#open) throw new TypeError('the result was closed while it was being sent');
        if (pace.inPlace) return this.#inPlace(() => readIntoNow(descriptor, buffer, from, to));
        return this.#tracked(() => readInto(descriptor, buffer, from, to));
      },
    };
  }

  async *stream(from: number, to: number): AsyncIterable<Uint8Array> {
    for (let at = from; at < to; at += STREAM_BYTES) {
      yield await this.#tracked(() => readRange(this.#file.descriptor, at, Math.min(to, at + STREAM_BYTES)));
    }
  }

  async close(reuse = false): Promise<void> {
    if (!this.#open) return;
    this.#open = false;
    // The number of a closed descriptor is given to the next file: a read that is under way must not end up there.
    if (this.#reading > 0) await new Promise<void>((resolve) => (this.#idle = resolve));
    for (const block of this.#blocks) this.#file.ahead.release(block, reuse);
    if (reuse) for (const buffer of this.#buffers) this.#parts.pool.give(buffer);
    await this.#parts.release(this.#file);
  }

  async #small(from: number, to: number): Promise<Uint8Array> {
    const { descriptor, ahead } = this.#file;
    const block = await this.#tracked(() =>
      ahead.load({ from, to }, this.record.rowBytes, (buffer, start, end) => readInto(descriptor, buffer, start, end)),
    );
    return this.#viewOf(block, to - from);
  }

  /** @param block one that was just loaded */
  #viewOf(block: Block, length: number): Uint8Array {
    this.#blocks.push(block);
    return block.bytes.subarray(0, length);
  }

  #range(from: number, to: number): Promise<Uint8Array> {
    const buffer = this.#buffer(to - from);
    return this.#tracked(() => readInto(this.#file.descriptor, buffer, from, to));
  }

  #buffer(bytes: number): Buffer {
    const buffer = this.#parts.pool.take(bytes);
    this.#buffers.push(buffer);
    return buffer;
  }

  #inPlace<T>(read: () => T): T {
    const done = this.#parts.pace.begin();
    try {
      return read();
    } catch (error) {
      throw asStoreError(error);
    } finally {
      done();
    }
  }

  async #tracked<T>(read: () => Promise<T>): Promise<T> {
    this.#reading++;
    const done = this.#parts.pace.begin();
    try {
      return await read();
    } catch (error) {
      throw asStoreError(error);
    } finally {
      done();
      if (--this.#reading === 0) this.#idle?.();
    }
  }
}

async function* pieces(descriptor: number, from: number, to: number): AsyncIterable<Uint8Array> {
  for (let at = from; at < to; at += STREAM_BYTES) {
    yield await readRange(descriptor, at, Math.min(to, at + STREAM_BYTES));
  }
}
