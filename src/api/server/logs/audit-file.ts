import { closeSync, mkdirSync, openSync, readSync, renameSync, statfsSync, fstatSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { LineQueue } from '../../../platform/line-queue.ts';
import { errorCode } from '../../../platform/plain-error.ts';
import { AuditChain, type FileEnd } from './audit-chain.ts';

export interface AuditFileOptions {
  readonly path: string;
  /** Size at which the file is rotated, bytes. */
  readonly maxBytes: number;
  /** Rotated files that are kept: `<path>.1` is the newest. */
  readonly maxFiles: number;
  readonly now: () => number;
  /** Called on opening where the last line is incomplete, with its bytes. */
  readonly onIncomplete?: (bytes: number) => void;
  /** Called for each record that could not be written at once. */
  readonly onFailed?: () => void;
  /** Called when a record could not be written, once until a write succeeds again. */
  readonly onError: (error: unknown) => void;
  /** Called when the file can be written again, with the number of records that are missing in it. */
  readonly onRecovered?: (missing: number) => void;
}

/** Records that wait until the file can be written. Further ones are missing in it. */
const MAX_WAITING_BYTES = 4 * 1024 * 1024;
/** Room on the disk below which problem() reports it as full: that of some dozen of the largest records, for the writes that run at the same time. */
const MIN_FREE_BYTES = 1024 * 1024;

const LINE_BREAK = 0x0a;
/** More than the longest line. */
const MAX_LINE_BYTES = 1024 * 1024;

/**
 * A file of JSON lines, each with its place in an AuditChain, that is rotated by its size. Writes are synchronous: a record is in the file (not necessarily on the disk) when append()
 * returns, so that a killed process loses none. Audit records are few, and a write takes some microseconds. A record that cannot be
 * written waits for the next attempt.
 */
export class AuditFile {
  readonly #options: AuditFileOptions;
  readonly #queue = new LineQueue(MAX_WAITING_BYTES);
  readonly #chain: AuditChain;
  #descriptor: number;
  #size: number;
  #failed = false;
  #missing = 0;

  /** @throws {Error} when the file cannot be opened */
  constructor(options: AuditFileOptions) {
    this.#options = options;
    mkdirSync(dirname(options.path), { recursive: true });
    this.#descriptor = open(options.path);
    this.#size = fstatSync(this.#descriptor).size;
    const end = endOf(options.path) ?? endOf(`${options.path}.1`) ?? { last: undefined, isComplete: true };
    if (!end.isComplete) options.onIncomplete?.(end.last?.length ?? 0);
    this.#chain = new AuditChain(end, options.now);
  }

  /** Number of the last record of this process. */
  get sequence(): number {
    return this.#chain.sequence;
  }

  /** Appends one record. Never throws. @returns the record with its place in the file */
  append<T extends object>(record: T): T {
    const { lines, sealed, written } = this.#chain.next(record);
    if (this.#queue.add(lines)) written();
    else this.#missing++;
    this.retry();
    if (this.#failed) this.#options.onFailed?.();
    return sealed;
  }

  /** Writes the records that wait. Does nothing where none does. Never throws. */
  retry(): void {
    try {
      while (!this.#queue.isEmpty) this.#write(this.#queue.first());
    } catch (error) {
      if (!this.#failed) this.#options.onError(error);
      this.#failed = true;
      return;
    }
    if (!this.#failed) return;
    this.#failed = false;
    const missing = this.#missing;
    this.#missing = 0;
    this.#options.onRecovered?.(missing);
  }

  /** Why a further record could not be written now; undefined where it can. */
  problem(): string | undefined {
    this.retry();
    if (this.#failed) return 'the last record could not be written';
    try {
      const { bavail, bsize } = statfsSync(dirname(this.#options.path));
      return bavail * bsize < MIN_FREE_BYTES ? 'the disk is full' : undefined;
    } catch (error) {
      return `its folder cannot be read (${errorCode(error) ?? 'unknown'})`;
    }
  }

  close(): void {
    this.retry();
    closeSync(this.#descriptor);
  }

  #write(lines: Buffer): void {
    // A record is not divided between two files.
    const canRotate = this.#size > 0 && !this.#queue.hasBegun;
    if (canRotate && this.#size + lines.length > this.#options.maxBytes) this.#rotate();
    const written = writeSync(this.#descriptor, lines);
    this.#queue.remove(written);
    this.#size += written;
  }

  #rotate(): void {
    const { path, maxFiles } = this.#options;
    for (let number = maxFiles - 1; number >= 0; number--) {
      try {
        renameSync(number === 0 ? path : `${path}.${number}`, `${path}.${number + 1}`);
      } catch (error) {
        if (errorCode(error) !== 'ENOENT') throw error;
      }
    }
    const descriptor = open(path);
    closeSync(this.#descriptor);
    this.#descriptor = descriptor;
    this.#size = 0;
  }
}

/** Readable by the owner only: records name users. */
function open(path: string): number {
  return openSync(path, 'a', 0o600);
}

/** The last line of a file; undefined where it is empty or does not exist. @throws {Error} when it cannot be read */
function endOf(path: string): FileEnd | undefined {
  let descriptor: number;
  try {
    descriptor = openSync(path, 'r');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined;
    throw error;
  }
  try {
    const { size } = fstatSync(descriptor);
    const bytes = Buffer.alloc(Math.min(size, MAX_LINE_BYTES));
    const length = readSync(descriptor, bytes, 0, bytes.length, size - bytes.length);
    if (length === 0) return undefined;
    const isComplete = bytes[length - 1] === LINE_BREAK;
    const end = isComplete ? length - 1 : length;
    const begin = end === 0 ? 0 : bytes.lastIndexOf(LINE_BREAK, end - 1) + 1;
    return { last: Buffer.from(bytes.subarray(begin, end)), isComplete };
  } finally {
    closeSync(descriptor);
  }
}
