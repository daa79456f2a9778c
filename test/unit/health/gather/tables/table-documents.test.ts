import { expect, it } from 'vitest';
import type { ControllerCall } from '../../../../../src/health/gather/calls/call.ts';
import type { ClusterCalls } from '../../../../../src/health/gather/cluster/cluster.ts';
import type { TableEntry } from '../../../../../src/health/gather/configs.ts';
import { Layout } from '../../../../../src/health/gather/placement/layout.ts';
import type { EngineReader } from '../../../../../src/health/gather/calls/reader.ts';
import { newState, TableDocuments } from '../../../../../src/health/gather/tables/table-documents.ts';
import { readOk, type Read } from '../../../../../src/health/snapshot.ts';

const SEGMENTS = 100_000;

/** A layout of many segments. The bytes of the names need not be real. */
function largeLayout(): Layout {
  const layout = new Layout();
  const name = Buffer.from('s');
  for (let segment = 0; segment < SEGMENTS; segment += 1) layout.segments.add(name, 0, 1);
  layout.found = true;
  return layout;
}

/** Documents of a cluster whose tables all have many segments, and the priorities of the calls by path. */
function documents() {
  const priorities: number[] = [];
  const reader = {
    pieces: async (call: ControllerCall) => {
      priorities.push(call.priority ?? 0);
      return largeLayout();
    },
    read: async <T>(work: () => Promise<T>): Promise<Read<T>> => readOk(await work()),
  };
  const calls = { call: (name: string, path: string, more: Partial<ControllerCall>) => ({ name, path, ...more }) };
  const made = new TableDocuments({
    reader: reader as unknown as EngineReader,
    calls: calls as unknown as ClusterCalls,
    request: {
      needs: new Set(['assignment']),
      smallSegmentBytes: 0,
      smallSegmentFraction: 0,
      signal: new AbortController().signal,
    },
    terseMetadata: true,
  });
  return { made, priorities };
}

const table = (name: string) =>
  newState({
    name: `${name}_OFFLINE`,
    rawName: name,
    type: 'OFFLINE',
    config: { upsert: false, dedup: false },
  } as unknown as TableEntry);

it('reads ideal states after all other documents while half the segments that can be kept are kept', async () => {
  const { made, priorities } = documents();
  const states = ['a', 'b', 'c', 'd'].map(table);
  for (const state of states) await made.assignment(state);
  const [first, second, third, fourth] = priorities;
  expect([second, third]).toEqual([first, first]);
  // 300,000 of 500,000 segments: the sizes, the last document of a table, have the priority 8.
  expect(fourth).toBeGreaterThan(8);
  for (const state of states) made.release(state);
  await made.assignment(table('e'));
  expect(priorities.at(-1)).toBe(first);
});
