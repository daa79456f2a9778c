import { createHash } from 'node:crypto';

/** Identifies a request by a random id of its case and its index. A mutation of it is not the marker of another case. */
export const MARKER = /fz([0-9a-f]{12})q([0-9]+)z/g;

export function markerOf(id: string, place: number): string {
  return `fz${id}q${place}z`;
}

export function markersIn(text: string): string[] {
  return [...text.matchAll(MARKER)].map(([marker]) => marker);
}

const SIZES = [0, 100, 1_000, 10_000, 70_000];

function hashOf(marker: string): Buffer {
  return createHash('sha256').update(marker).digest();
}

/** The engine's body for a marker; its size depends only on the marker. */
export function engineBody(marker: string): string {
  const hash = hashOf(marker);
  const pad = hash.toString('hex').repeat(Math.ceil((SIZES[(hash[0] ?? 0) % SIZES.length] ?? 0) / 64));
  return `{"resultTable":{"dataSchema":{"columnNames":["a"],"columnDataTypes":["STRING"]},"rows":[["${marker}"],["${pad}"]]},"exceptions":[],"tablesQueried":["orders"]}`;
}

const FRAMINGS = ['length', 'chunks', 'chunks', 'length', 'close'] as const;

export function engineFraming(marker: string): (typeof FRAMINGS)[number] {
  return FRAMINGS[(hashOf(marker)[1] ?? 0) % FRAMINGS.length] ?? 'length';
}

/** The engine's body for a request without a marker. */
export const UNMARKED_BODY = '{"exceptions":[],"unmarked":true}';
