import { closeSync, mkdirSync, openSync, renameSync, statSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { errorCode } from '../../../platform/plain-error.ts';

export interface AuditFileOptions {
  readonly path: string;
  /** Size at which the file is rotated, bytes. */
  readonly maxBytes: number;
  /** Rotated files that are kept: `<path>.1` is the newest. */
  readonly maxFiles: number;
  /** Called when a record could not be written, once until a write succeeds again. */
  readonly onError: (error: unknown) => void;
}

/**
 * A file of JSON lines that is rotated by its size. Writes are synchronous: a record is in the file (not necessarily on the disk) when append()
 * returns, so that a killed process loses none. Audit records are few, and a write takes some microseconds.
 */
export class AuditFile {
  readonly #options: AuditFileOptions;
  #descriptor: number;
  #size: number;
  #failed = false;

  /** @throws {Error} when the file cannot be opened */
  constructor(options: AuditFileOptions) {
    this.#options = options;
    mkdirSync(dirname(options.path), { recursive: true });
    this.#descriptor = open(options.path);
    this.#size = statSync(options.path).size;
  }

  /** Appends one line. Never throws. */
  append(record: object): void {
    const line = Buffer.from(`${JSON.stringify(record)}\n`);
    try {
      if (this.#size > 0 && this.#size + line.length > this.#options.maxBytes) this.#rotate();
      for (let written = 0; written < line.length;) written += writeSync(this.#descriptor, line, written);
      this.#size += line.length;
      this.#failed = false;
    } catch (error) {
      if (!this.#failed) this.#options.onError(error);
      this.#failed = true;
    }
  }

  close(): void {
    closeSync(this.#descriptor);
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
