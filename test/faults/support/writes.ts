import { Expectation } from './history.ts';
import type { Outcome } from './load.ts';

/** One write of a history, as data, so that it can be repeated. */
export interface Write {
  /** `gateway 0` or `kubectl`. */
  readonly via: string;
  readonly client: number;
  readonly method: string;
  /** `Kind name` for kubectl. */
  readonly path: string;
  readonly body?: unknown;
  /** The object that is written, as `Kind name`, and its value afterwards; absent for writes that only decisions show. */
  readonly object?: { readonly key: string; readonly value: string | undefined };
  /** A write beyond the rights of its caller: it must be rejected. */
  readonly isEscalation?: boolean;
}

/** Where a history is written. */
export interface WriteTarget {
  send(write: Write): Promise<Outcome>;
}

export function outcomeOf({ status }: Pick<Outcome, 'status'>): 'done' | 'not-done' | 'unknown' {
  if (status === 'closed' || status >= 500) return 'unknown';
  return status < 300 ? 'done' : 'not-done';
}

/** The writes so far, and what the stored objects may be. */
export class History {
  readonly writes: Write[] = [];
  /** By `Kind name`. */
  readonly expected = new Map<string, Expectation>();
  readonly #target: WriteTarget;

  constructor(target: WriteTarget) {
    this.#target = target;
  }

  expectationOf(key: string): Expectation {
    const known = this.expected.get(key) ?? new Expectation();
    this.expected.set(key, known);
    return known;
  }

  async perform(write: Write): Promise<Outcome> {
    this.writes.push(write);
    const outcome = await this.#target.send(write);
    const { object, via, isEscalation = false } = write;
    if (object === undefined) return outcome;
    const status = `${outcome.status}${outcome.status === 200 ? '' : ` ${outcome.text.slice(0, 300)}`}`;
    // Nobody may find what an escalation wrote, whatever its outcome.
    this.expectationOf(object.key).record(object.value, via, isEscalation ? 'not-done' : outcomeOf(outcome), status);
    return outcome;
  }

  /** Objects with a value that no order of their writes explains, each with its writes. @param found values by `Kind name` */
  violations(found: ReadonlyMap<string, string>): string[] {
    return [...this.expected].flatMap(([name, expectation]) => expectation.violation(name, found.get(name)) ?? []);
  }
}

/** One line for each write. */
export function describeWrites(writes: readonly Write[]): string {
  return writes
    .map(({ via, client, method, path, body }) =>
      [`client ${client} by ${via}:`, method, path, ...(body === undefined ? [] : [JSON.stringify(body)])].join(' '),
    )
    .join('\n');
}
