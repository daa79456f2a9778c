import { createHash, randomBytes } from 'node:crypto';
import type { AuditStart } from './audit-record.ts';

/** `previous` of the first record of a new file. */
export const NOTHING_BEFORE = '0'.repeat(64);

/** SHA-256 of a line of an audit file, without its line break. */
export function lineHash(line: Buffer | string): string {
  return createHash('sha256').update(line).digest('hex');
}

/** How an audit file ends when a process opens it. */
export interface FileEnd {
  /** The last line, without its line break; undefined where there is none. */
  readonly last: Buffer | undefined;
  /** Whether the last line has a line break. */
  readonly isComplete: boolean;
}

/**
 * The chain of the records of one process in one file. Each record has its number and the hash of the line before, so that a record that is missing,
 * changed or cut shows. The first record of the process refers to the last line that was in the file.
 */
export class AuditChain {
  readonly #writer = randomBytes(6).toString('hex');
  readonly #end: FileEnd;
  readonly #now: () => number;
  #sequence = 0;
  #previous: string;

  constructor(end: FileEnd, now: () => number) {
    this.#end = end;
    this.#now = now;
    this.#previous = end.last === undefined ? NOTHING_BEFORE : lineHash(end.last);
  }

  /** Number of the last record. */
  get sequence(): number {
    return this.#sequence;
  }

  /**
   * The next record of the chain: the lines to write with their line breaks, which begin with a `start` in the first call, and the record with its
   * position. Call `written` once if the lines will be in the file: otherwise its number stays unused, which shows that it is missing.
   */
  next<T extends object>(record: T): { readonly lines: Buffer; readonly sealed: T; readonly written: () => void } {
    const start = this.#sequence === 0 ? this.#start() : undefined;
    if (start !== undefined) this.#previous = lineHash(start.line);
    const { line, sealed } = this.#seal(record);
    const hash = lineHash(line);
    return {
      lines: Buffer.from(`${start?.text ?? ''}${line}\n`),
      sealed,
      written: () => {
        this.#previous = hash;
      },
    };
  }

  #start(): { readonly line: string; readonly text: string } {
    const { last, isComplete } = this.#end;
    const time = new Date(this.#now()).toISOString();
    const incomplete = last === undefined || isComplete ? {} : { incomplete: last.length };
    const record: Omit<AuditStart, 'writer' | 'sequence' | 'previous'> = {
      version: 1,
      type: 'start',
      time,
      ...incomplete,
    };
    const { line } = this.#seal(record);
    return { line, text: `${isComplete ? '' : '\n'}${line}\n` };
  }

  #seal<T extends object>(record: T): { readonly line: string; readonly sealed: T } {
    this.#sequence++;
    const sealed = { ...record, writer: this.#writer, sequence: this.#sequence, previous: this.#previous };
    return { line: JSON.stringify(sealed), sealed };
  }
}
