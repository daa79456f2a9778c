import { lineHash, NOTHING_BEFORE } from './audit-chain.ts';

/** Where a line is: `audit.jsonl.1:17`. */
export interface AuditProblem {
  readonly place: string;
  readonly message: string;
}

/** The last record of a process. */
export interface LastRecord {
  readonly sequence: number;
  readonly hash: string;
}

interface Linked {
  readonly type: string;
  readonly writer: string;
  readonly sequence: number;
  readonly previous: string;
  readonly incomplete: number | undefined;
}

/** Lines before a start to which it may refer: another process may have written into the file meanwhile. */
const MAX_RECENT = 10_000;

/**
 * Follows the chains of the records in a file, see AuditChain. The lines are given in their order, from the oldest rotated file to the current one.
 * A chain shows each record that is missing, changed or cut, except at its end: there, compare `last` with the metric or the log of the process.
 */
export class AuditVerifier {
  readonly problems: AuditProblem[] = [];
  /** What is unusual and explained by the records themselves. */
  readonly notes: AuditProblem[] = [];
  /** By writer, in the order of their first records. */
  readonly last = new Map<string, LastRecord>();
  records = 0;
  readonly #isRotated: boolean;
  readonly #recent = new Set<string>();
  #unreadable: { readonly place: string; readonly hash: string; readonly bytes: number } | undefined;
  #isEmpty = true;

  /** @param isRotated whether older files than the given ones may have been deleted */
  constructor(isRotated: boolean) {
    this.#isRotated = isRotated;
  }

  /** @param line without its line break */
  add(line: Buffer, place: string): void {
    if (line.length === 0) return;
    const hash = lineHash(line);
    const record = parse(line);
    if (record === undefined) {
      this.#reportUnreadable();
      this.#unreadable = { place, hash, bytes: line.length };
    } else {
      this.#explainUnreadable(record);
      this.#follow(record, place);
      this.last.set(record.writer, { sequence: record.sequence, hash });
      this.records++;
    }
    this.#isEmpty = false;
    this.#recent.add(hash);
    if (this.#recent.size > MAX_RECENT) for (const oldest of this.#recent) return void this.#recent.delete(oldest);
  }

  /** After the last line. */
  end(): void {
    this.#reportUnreadable();
  }

  #follow({ type, writer, sequence, previous }: Linked, place: string): void {
    const known = this.last.get(writer);
    const report = (message: string): void =>
      void this.problems.push({ place, message: `${message} (writer ${writer})` });
    if (known !== undefined) {
      const next = known.sequence + 1;
      if (sequence < next) report(`record ${sequence} is repeated or not in its order: record ${next} was expected`);
      else if (sequence > next) report(`${range(next, sequence - 1)} missing`);
      else if (previous !== known.hash)
        report(`record ${sequence - 1} was changed: its hash is not that in record ${sequence}`);
    } else if (type !== 'start') {
      const mayBeRotated = this.#isEmpty && this.#isRotated;
      if (!mayBeRotated) report(`${range(1, sequence - 1)} missing`);
    } else if (this.#isEmpty) {
      if (previous !== NOTHING_BEFORE && !this.#isRotated) report('the records before the first start are missing');
    } else if (!this.#recent.has(previous)) {
      report('the last record before this start was changed, or is missing');
    }
  }

  /** A line that is no record is cut. If the process ended while it wrote it, the start of the next process says so. */
  #explainUnreadable({ type, previous, incomplete }: Linked): void {
    const unreadable = this.#unreadable;
    if (unreadable === undefined) return;
    if (type !== 'start' || previous !== unreadable.hash || incomplete !== unreadable.bytes)
      return this.#reportUnreadable();
    const message = `a record is incomplete, because its process ended while it wrote it: the next start says so`;
    this.notes.push({ place: unreadable.place, message });
    this.#unreadable = undefined;
  }

  #reportUnreadable(): void {
    if (this.#unreadable === undefined) return;
    this.problems.push({ place: this.#unreadable.place, message: 'a record was cut: the line is not a record' });
    this.#unreadable = undefined;
  }
}

function range(from: number, to: number): string {
  return from === to ? `record ${from} is` : `records ${from} to ${to} are`;
}

function parse(line: Buffer): Linked | undefined {
  try {
    const { type, writer, sequence, previous, incomplete } = JSON.parse(line.toString('utf8')) as Partial<Linked>;
    if (typeof type !== 'string' || typeof writer !== 'string' || typeof previous !== 'string') return undefined;
    if (!Number.isSafeInteger(sequence)) return undefined;
    return { type, writer, sequence: sequence!, previous, incomplete };
  } catch {
    return undefined;
  }
}
