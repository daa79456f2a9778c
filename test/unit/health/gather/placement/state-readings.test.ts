import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { SegmentMetadataVisitor } from '../../../../../src/health/gather/tables/segment-metadata.ts';
import { JsonScanner } from '../../../../../src/health/gather/calls/json-scanner.ts';
import { ExternalViewReading, IdealStateReading } from '../../../../../src/health/gather/placement/state-readings.ts';
import type { Layout } from '../../../../../src/health/gather/placement/layout.ts';

type States = Record<string, Record<string, string>>;

const name = fc.constantFrom('a', 'b', 'c__1__2__3', 'd__2__0__3', 'segment_e', 'segment_f', 'g"', 'h');
const server = fc.constantFrom('Server_1', 'Server_2', 'Server_3', 'Server_4', 'Server_5', 'S\\');
const state = fc.oneof(
  { weight: 6, arbitrary: fc.constant('ONLINE') },
  fc.constantFrom('CONSUMING', 'OFFLINE', 'ERROR'),
);
const states = fc.dictionary(name, fc.dictionary(server, state, { maxKeys: 5 }), { maxKeys: 8 });
const cutting = fc.record({ indent: fc.constantFrom(undefined, 2), cuts: fc.array(fc.nat()) });

/** The chunks of a document in one of several layouts. */
function pieces(value: unknown, { indent, cuts }: { indent: number | undefined; cuts: readonly number[] }): Buffer[] {
  const bytes = Buffer.from(JSON.stringify(value, undefined, indent));
  const at = [...new Set(cuts.map((i) => i % (bytes.length + 1)))].toSorted((a, b) => a - b);
  return [0, ...at].map((cut, i) => bytes.subarray(cut, at[i] ?? bytes.length));
}

function layoutOf(value: unknown, cut: Parameters<typeof pieces>[1]): Layout {
  const reading = new IdealStateReading('OFFLINE');
  for (const piece of pieces(value, cut)) reading.push(piece);
  return reading.end();
}

/** The replicas that are not OFFLINE. */
const held = (replicas: Record<string, string> = {}): [string, string][] =>
  Object.entries(replicas).filter(([, at]) => at !== 'OFFLINE');

describe('an ideal state', () => {
  it('is counted by server for any chunks', () => {
    fc.assert(
      fc.property(states, cutting, (ideal: States, cut) => {
        const assignment = layoutOf({ OFFLINE: ideal, REALTIME: null }, cut).assignment(true);
        const loads: Record<string, { segments: number; consuming: number }> = {};
        for (const replicas of Object.values(ideal)) {
          const consumes = Object.values(replicas).includes('CONSUMING');
          for (const [on] of held(replicas)) {
            const load = (loads[on] ??= { segments: 0, consuming: 0 });
            load.segments += 1;
            load.consuming += consumes ? 1 : 0;
          }
        }
        expect(Object.fromEntries(assignment.servers)).toEqual(loads);
        expect(assignment.segments).toBe(Object.keys(ideal).length);
        expect(assignment.consumingSegments).toBe(
          Object.values(ideal).filter((replicas) => Object.values(replicas).includes('CONSUMING')).length,
        );
        expect(assignment.segmentsWithoutPartition).toBe(
          Object.keys(ideal).filter((segment) => !segment.includes('__')).length,
        );
        const partition = [...(ideal['c__1__2__3'] ? held(ideal['c__1__2__3']) : [])].map(([on]) => on);
        expect(assignment.partitions.get(1) ?? []).toEqual(partition.toSorted());
      }),
      { numRuns: 500 },
    );
  });
});

/** `<server> <state>` of each replica that differs, as the finding has it. */
function faultsOf(ideal: Record<string, string>, view: Record<string, string>): string[] {
  const faults: string[] = [];
  for (const server of new Set([...Object.keys(ideal), ...Object.keys(view)])) {
    const [expected = 'OFFLINE', found] = [ideal[server], view[server]];
    if (expected === (found ?? 'OFFLINE')) continue;
    if (expected === 'OFFLINE') faults.push(`${server} unexpected`);
    else faults.push(`${server} ${found ?? 'missing'}`);
  }
  return faults;
}

describe('an external view', () => {
  it('differs in segments with other replicas or states for any chunks', () => {
    const sorted = (replicas: Record<string, string> | undefined) => JSON.stringify(held(replicas).toSorted());
    fc.assert(
      fc.property(
        states,
        states,
        fc.boolean(),
        cutting,
        cutting,
        (ideal: States, other: States, same, cut, viewCut) => {
          // Most replicas are equal in both documents.
          const view = same ? { ...ideal, ...Object.fromEntries(Object.entries(other).slice(0, 1)) } : other;
          const layout = layoutOf({ OFFLINE: ideal, REALTIME: null }, cut);
          const reading = new ExternalViewReading(layout, 'OFFLINE');
          for (const piece of pieces({ OFFLINE: view, REALTIME: null }, viewCut)) reading.push(piece);
          const expected = [...new Set([...Object.keys(ideal), ...Object.keys(view)])].filter(
            (segment) => sorted(ideal[segment]) !== sorted(view[segment]),
          );
          const { differences, missing } = reading.end();
          expect(differences.names.toSorted()).toEqual(expected.toSorted());
          expect(missing).toBe(false);
          const served = (segment: string) =>
            Object.values(view[segment] ?? {}).some((state) => state === 'ONLINE' || state === 'CONSUMING');
          const unserved = expected.filter((segment) => held(ideal[segment]).length > 0 && !served(segment));
          const { replicas, segments, ...summary } = differences.summary(false);
          expect(segments.count).toBe(expected.length);
          expect(summary.unserved.count).toBe(unserved.length);
          const faults = expected.flatMap((segment) => faultsOf(ideal[segment] ?? {}, view[segment] ?? {}));
          const groups = replicas.flatMap((group) =>
            Array.from({ length: group.segments.count }, () => `${group.server} ${group.state}`),
          );
          expect(groups.toSorted()).toEqual(faults.toSorted());
          const some = new Set(expected.slice(0, 1));
          expect(differences.summary(false, some).segments.count).toBe(some.size);
        },
      ),
      { numRuns: 500 },
    );
  });
});

describe("segments' metadata", () => {
  it('is summed by server in any order and for any chunks', () => {
    const time = fc.integer({ min: 1, max: 9 });
    const fields = fc.record({ start: time, end: time, docs: fc.nat(100), bytes: fc.nat(100) });
    const metadata = fc.dictionary(name, fields, { maxKeys: 8 });
    fc.assert(
      fc.property(states, metadata, fc.constantFrom('map', 'nodes'), cutting, (ideal: States, of, shape, cut) => {
        const layout = layoutOf({ OFFLINE: ideal, REALTIME: null }, { indent: undefined, cuts: [] });
        const entries = Object.entries(of).map(([segment, { start, end, docs, bytes }]) => {
          const simpleFields = {
            'segment.crc': '12',
            'segment.end.time': String(end),
            'segment.size.in.bytes': String(bytes),
            'segment.start.time': String(start),
            'segment.total.docs': String(docs),
          };
          return [segment, simpleFields] as const;
        });
        const value =
          shape === 'map'
            ? Object.fromEntries(entries)
            : entries.map(([id, simpleFields]) => ({ id, simpleFields, mapFields: {}, listFields: {} }));
        const visitor = new SegmentMetadataVisitor(layout, 50, shape);
        const scanner = new JsonScanner(visitor);
        for (const piece of pieces(value, cut)) scanner.push(piece);
        scanner.end();
        const summary = visitor.summary();
        const known = Object.entries(of).filter(
          ([segment]) => ideal[segment] !== undefined && !Object.values(ideal[segment]).includes('CONSUMING'),
        );
        expect(summary).toMatchObject({
          completed: known.length,
          packedUnknown: 0,
          packedBelowLimit: known.filter(([, { bytes }]) => bytes < 50).length,
          withoutTime: 0,
        });
        const documents: Record<string, number> = {};
        for (const replicas of Object.values(ideal)) for (const [on] of held(replicas)) documents[on] ??= 0;
        for (const [segment, { docs }] of known)
          for (const [on] of held(ideal[segment])) documents[on] = (documents[on] ?? 0) + docs;
        expect(Object.fromEntries(summary.documents)).toEqual(documents);
        const inOrder = known.map(([, times]) => times).toSorted((a, b) => a.start - b.start || a.end - b.end);
        const out = inOrder.filter(({ end }, i) => i > 0 && end < (inOrder[i - 1]?.end ?? 0));
        expect(summary.outOfOrder.count).toBe(out.length);
      }),
      { numRuns: 500 },
    );
  });
});
