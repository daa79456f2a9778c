import { hash } from 'node:crypto';
import type { Mask, TableConditions } from '../../conditions.ts';
import { columnKey, type AppliedConditions } from './compiled-conditions.ts';

type Columns = TableConditions['columns'];

/**
 * What several statements allow together: rows of any, columns of any, each independent of the other. A column is masked if each statement that shows it
 * masks it. What some statement allows without a condition has none.
 * @param all at least one
 * @returns undefined if everything is allowed
 */
export function unionOf(all: readonly AppliedConditions[]): TableConditions | undefined {
  const ordered = all.toSorted((a, b) => compare(a.rowsKey + a.key, b.rowsKey + b.key));
  const alternatives = new Map(ordered.map(({ rowsKey, rows }) => [rowsKey, rows]));
  const rows = ordered.some(({ rows: filters }) => filters.length === 0) ? undefined : [...alternatives.values()];
  const columns = columnsOf(ordered);
  const masks = masksOf(ordered);
  if (rows === undefined && columns === undefined && masks.size === 0) return undefined;
  const key = shortened(JSON.stringify([rows && [...alternatives.keys()], ...columnKey({ columns, masks })]));
  return { rows, columns, masks, key };
}

function columnsOf(all: readonly AppliedConditions[]): Columns {
  const allowed = new Set<string>();
  let denied: ReadonlySet<string> | undefined;
  for (const { columns } of all) {
    if (columns === undefined) return undefined;
    if (columns.kind === 'allow') for (const name of columns.names) allowed.add(name);
    else denied = denied === undefined ? columns.names : intersection(denied, columns.names);
  }
  if (denied === undefined) return { kind: 'allow', names: allowed };
  const left = denied.difference(allowed);
  return left.size === 0 ? undefined : { kind: 'deny', names: left };
}

/** The engine compares names without case, so that two spellings of a column deny it. */
function intersection(a: ReadonlySet<string>, b: ReadonlySet<string>): ReadonlySet<string> {
  const [inA, inB] = [foldedSet(a), foldedSet(b)];
  return new Set([...a, ...b].filter((name) => inA.has(name.toLowerCase()) && inB.has(name.toLowerCase())));
}

function masksOf(all: readonly AppliedConditions[]): ReadonlyMap<string, Mask> {
  const masked = all.map(({ columns, masks }) => ({ columns, names: foldedSet(masks.keys()) }));
  const first = new Map<string, Mask>();
  for (const [column, mask] of all.flatMap(({ masks }) => [...masks])) if (!first.has(column)) first.set(column, mask);
  const isMasked = (column: string): boolean =>
    masked.every(({ columns, names }) => !shows(columns, column) || names.has(column.toLowerCase()));
  return new Map([...first].filter(([column]) => isMasked(column)));
}

function shows(columns: Columns, column: string): boolean {
  if (columns === undefined) return true;
  return columns.names.has(column) === (columns.kind === 'allow');
}

function foldedSet(names: Iterable<string>): ReadonlySet<string> {
  return new Set(Iterator.from(names).map((name) => name.toLowerCase()));
}

/** A key is in records, where some thousand characters would be too many. */
const MAX_KEY_LENGTH = 1024;

function shortened(key: string): string {
  if (key.length <= MAX_KEY_LENGTH) return key;
  return `${key.slice(0, MAX_KEY_LENGTH - 64).toWellFormed()}… sha256:${hash('sha256', key, 'base64url')}`;
}

function compare(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0;
}
