import { describe, expect, it } from 'vitest';
import type { ResultRecord, StoredResultSummary } from '../../../../src/results/result-store.ts';
import { mergedQueries, type OwnQueries, positionOf, queriesOf } from '../../../../src/results/runs/listing.ts';
import type { RunStatus } from '../../../../src/results/runs/status.ts';
import { submission } from '../answers.ts';

const ANN = 'srn2:user#ann';
const BOB = 'srn2:user#bob';
const NOW = 1_000_000;
const signal = new AbortController().signal;

function status(requestId: string, submissionTimeMs: number, over: Partial<RunStatus> = {}): RunStatus {
  return {
    requestId,
    brokerId: 'gw-0',
    owner: ANN,
    tables: [],
    state: 'running',
    submissionTimeMs,
    rowCount: 0,
    bytes: 0,
    ...over,
  };
}

function result(requestId: string, submissionTimeMs: number, over: Partial<ResultRecord> = {}): StoredResultSummary {
  const record = {
    ...submission({ requestId, submissionTimeMs, owner: ANN, expirationTimeMs: NOW + 1 }),
    ...over,
  } as ResultRecord;
  return { record, bytes: 0, dataFile: '', metadataFile: '' };
}

interface Sources {
  readonly noted?: readonly RunStatus[];
  readonly own?: readonly RunStatus[];
  readonly stored?: readonly StoredResultSummary[];
}

function listed({ noted = [], own = [], stored = [] }: Sources, limit = 10, before?: string): Promise<OwnQueries> {
  const options = {
    store: {
      list: async function* list() {
        yield* stored;
      },
    },
    runs: {
      own: () => own,
      noted: async function* list() {
        yield* noted;
      },
    },
    clock: { now: () => NOW },
  };
  return queriesOf(ANN, { limit, before }, options, signal);
}

const ids = ({ queries }: OwnQueries): string[] => queries.map(({ requestId }) => requestId);

describe('the queries of a caller', () => {
  it('are those of all sources that have the caller as their owner', async () => {
    const sources = {
      noted: [status('a', 1), status('b', 2, { owner: BOB })],
      own: [status('c', 3), status('d', 4, { owner: BOB })],
      stored: [result('e', 5), result('f', 6, { owner: BOB })],
    };
    expect(ids(await listed(sources))).toEqual(['e', 'c', 'a']);
  });

  it('have no results that have expired', async () => {
    const stored = [
      result('a', 1, { expirationTimeMs: NOW }),
      result('b', 2, { expirationTimeMs: NOW + 1 }),
      result('c', 3, { expirationTimeMs: NOW - 1, owner: BOB }),
    ];
    expect(ids(await listed({ stored }))).toEqual(['b']);
  });

  it('have the state of the result, then of this process, then of the note', async () => {
    const sources = {
      noted: [status('a', 1), status('b', 2), status('c', 3)],
      own: [status('b', 2, { state: 'storing' }), status('c', 3, { state: 'storing' })],
      stored: [result('c', 3)],
    };
    const { queries } = await listed(sources);
    expect(queries.map(({ requestId, state }) => [requestId, state])).toEqual([
      ['c', 'done'],
      ['b', 'storing'],
      ['a', 'running'],
    ]);
  });

  it('are in the order of their submission, the newest first; those of the same time by their id', async () => {
    const own = [status('b', 5), status('x', 4), status('c', 5), status('a', 5), status('y', 6)];
    expect(ids(await listed({ own }))).toEqual(['y', 'c', 'b', 'a', 'x']);
    expect(ids(await listed({ own: own.toReversed() }))).toEqual(['y', 'c', 'b', 'a', 'x']);
  });

  it('are one more than the limit where there are more', async () => {
    const own = [1, 2, 3, 4].map((at) => status(`q${at}`, at));
    expect(ids(await listed({ own }, 2))).toEqual(['q4', 'q3', 'q2']);
    expect(ids(await listed({ own }, 4))).toEqual(['q4', 'q3', 'q2', 'q1']);
    expect(ids(await listed({ own }, 5))).toEqual(['q4', 'q3', 'q2', 'q1']);
  });

  it('continue behind a position, which is a time and an id', async () => {
    const own = [status('a', 5), status('b', 5), status('c', 5), status('d', 4), status('0', 15), status('z', 6)];
    const after = async (requestId: string, submissionTimeMs: number): Promise<string[]> =>
      ids(await listed({ own }, 10, positionOf({ requestId, submissionTimeMs })));
    expect(positionOf(own[1]!)).toBe('5.b');
    expect(await after('b', 5)).toEqual(['a', 'd']);
    expect(await after('c', 5)).toEqual(['b', 'a', 'd']);
    expect(await after('a', 5)).toEqual(['d']);
    expect(await after('d', 4)).toEqual([]);
    expect(await after('0', 15)).toEqual(['z', 'c', 'b', 'a', 'd']);
  });

  it('are the newest of many, in whatever order they are found', async () => {
    const many = Array.from({ length: 400 }, (_, at) => status(`q${at}`, at));
    const newest = ['q399', 'q398', 'q397'];
    expect(ids(await listed({ own: many }, 2))).toEqual(newest);
    expect(ids(await listed({ own: many.toReversed() }, 2))).toEqual(newest);
    expect(ids(await listed({ noted: many.slice(200), own: many.slice(0, 200) }, 2))).toEqual(newest);
  });

  it('of several gateways are merged', () => {
    const lists = [[status('b', 2), status('a', 1)], [], [status('c', 3), status('b', 2)]];
    const merged = (limit: number): string[] => mergedQueries(lists, limit).map(({ requestId }) => requestId);
    expect(merged(5)).toEqual(['c', 'b', 'a']);
    expect(merged(2)).toEqual(['c', 'b', 'a']);
    expect(merged(1)).toEqual(['c', 'b']);
  });
});
