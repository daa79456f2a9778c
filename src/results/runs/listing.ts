import type { WallClock } from '../../platform/clock.ts';
import type { Damages } from '../rows/damages.ts';
import type { ResultStore } from '../result-store.ts';
import type { QueryRuns } from './runs.ts';
import { type RunStatus, statusOfRecord } from './status.ts';

/** A part of a caller's queries. */
export interface ListingRange {
  /** Maximum number of queries. */
  readonly limit: number;
  /** `positionOf` the last query before the part; undefined for the newest ones. */
  readonly before?: string | undefined;
}

export interface ListingOptions {
  readonly store: Pick<ResultStore, 'list'>;
  readonly runs: Pick<QueryRuns, 'own' | 'noted'>;
  readonly clock: WallClock;
  /** Damages that were found by reading. Default: none. */
  readonly damages?: Pick<Damages, 'of'>;
}

export interface OwnQueries {
  /** Contains at most `limit` items, or one more where there are more. */
  readonly queries: RunStatus[];
  /** Whether the store has too many states to read all of them. */
  readonly isIncomplete: boolean;
}

/** The place of a query in the order of listings. */
export function positionOf({ submissionTimeMs, requestId }: Pick<RunStatus, 'submissionTimeMs' | 'requestId'>): string {
  return `${submissionTimeMs}.${requestId}`;
}

/**
 * The queries of a caller in this gateway's store, newest first. Of the same query the result counts, then what this process knows, then its note.
 * @param owner SRN
 * @throws {QueryError} store-unavailable
 */
export async function queriesOf(
  owner: string,
  range: ListingRange,
  { store, runs, clock, damages }: ListingOptions,
  signal: AbortSignal,
): Promise<OwnQueries> {
  const newest = new Newest<RunStatus>({ ...range, limit: range.limit + 1 });
  let isIncomplete = false;
  const noted = runs.noted(() => (isIncomplete = true), signal);
  for await (const status of noted) if (status.owner === owner) newest.add(status);
  for (const status of runs.own()) if (status.owner === owner) newest.add(status);
  for await (const { record, damaged = damages?.of(record) } of store.list(signal)) {
    if (record.owner === owner && record.expirationTimeMs > clock.now()) newest.add(statusOfRecord(record, damaged));
  }
  return { queries: newest.sorted(), isIncomplete };
}

/** Merges the listings of gateways. @returns at most `limit`; one more where there are more */
export function mergedQueries<T extends Position>(lists: readonly (readonly T[])[], limit: number): T[] {
  const newest = new Newest<T>({ limit: limit + 1 });
  for (const status of lists.flat()) newest.add(status);
  return newest.sorted();
}

/** Keeps the newest statuses: memory does not depend on how many are added. */
class Newest<T extends Position> {
  readonly #limit: number;
  readonly #before: Position | undefined;
  readonly #byId = new Map<string, T>();

  constructor({ limit, before }: ListingRange) {
    this.#limit = limit;
    this.#before = before === undefined ? undefined : parsed(before);
  }

  add(status: T): void {
    if (this.#before !== undefined && compare(status, this.#before) <= 0) return;
    this.#byId.set(status.requestId, status);
    if (this.#byId.size <= 2 * this.#limit + 100) return;
    const kept = this.sorted();
    this.#byId.clear();
    for (const one of kept) this.#byId.set(one.requestId, one);
  }

  sorted(): T[] {
    return [...this.#byId.values()].sort(compare).slice(0, this.#limit);
  }
}

type Position = Pick<RunStatus, 'submissionTimeMs' | 'requestId'>;

function compare(a: Position, b: Position): number {
  const byTime = b.submissionTimeMs - a.submissionTimeMs;
  return byTime !== 0 ? byTime : a.requestId < b.requestId ? 1 : a.requestId > b.requestId ? -1 : 0;
}

function parsed(position: string): Position {
  const at = position.indexOf('.');
  return { submissionTimeMs: Number(position.slice(0, at)), requestId: position.slice(at + 1) };
}
