import type { Conditions } from '../../../resources/policy.ts';
import type { ValidationError } from '../../../resources/validation-message.ts';
import type { Mask, TableConditions } from '../../conditions.ts';
import { parseMask, parseRowFilter, valueNamed, type CallerValues, type FilterOfCaller } from '../../sql/row-filter.ts';
import { ANY_CALLER, hasValues } from './caller-values.ts';

/** The conditions of one statement. */
export interface CompiledConditions {
  /** With texts in place of the values of a caller. */
  readonly filters: readonly CompiledFilter[];
  readonly columns: TableConditions['columns'];
  readonly masks: ReadonlyMap<string, Mask>;
  /** Equal for equal conditions, in whatever order they are written. */
  readonly key: string;
  /** Whether other callers read other rows by the same conditions. */
  readonly isPersonal: boolean;
}

interface CompiledFilter {
  readonly text: string;
  readonly parsed: FilterOfCaller;
}

/** Problems that the schema does not show; paths are relative to the conditions. */
export function* conditionProblems({
  rowFilters = [],
  columns = {},
}: Conditions): Generator<ValidationError, undefined, void> {
  for (const [index, text] of rowFilters.entries()) {
    const parsed = parseRowFilter(text, ANY_CALLER);
    if (!parsed.ok) yield { path: `rowFilters[${index}]`, message: parsed.reason };
  }
  const { allow, deny, mask = {} } = columns;
  for (const [column, text] of Object.entries(mask)) {
    const path = `columns.mask.${column.slice(0, 80)}`;
    if (allow?.includes(column) === false)
      yield { path, message: 'the column is not in `allow`: a mask is for a column that may be read' };
    if (deny?.includes(column) === true)
      yield { path, message: 'the column is in `deny`: a mask is for a column that may be read' };
    const parsed = parseMask(text, column);
    if (!parsed.ok) yield { path, message: parsed.reason };
  }
}

/** @param conditions without problems */
export function compileConditions({ rowFilters = [], columns = {} }: Conditions): CompiledConditions {
  const { allow, deny, mask = {} } = columns;
  const masks = new Map(Object.entries(mask).map(([column, text]) => [column, maskOf(text, column)]));
  const filters = [...new Set(rowFilters)].sort().map((text) => ({ text, parsed: filterOf(text, ANY_CALLER) }));
  const names = allow ?? deny;
  const kind = allow === undefined ? 'deny' : 'allow';
  const compiled = {
    filters,
    columns: names && ({ kind, names: new Set(names) } as const),
    masks,
    isPersonal: filters.some(({ parsed }) => parsed.uses.length > 0),
  };
  return { ...compiled, key: JSON.stringify([filters.map(({ text }) => text), ...columnKey(compiled)]) };
}

/** Columns and masks in a fixed order. */
export function columnKey({ columns, masks }: Pick<TableConditions, 'columns' | 'masks'>): readonly unknown[] {
  return [
    columns === undefined ? null : [columns.kind, ...[...columns.names].sort()],
    [...masks].map(([column, { text }]) => [column, text]).sort(([a = ''], [b = '']) => (a < b ? -1 : a > b ? 1 : 0)),
  ];
}

/** A filter with the values of a caller. @param values with all that the filter uses */
function filterOf(text: string, values: CallerValues): FilterOfCaller {
  const parsed = parseRowFilter(text, values);
  // INVARIANT: conditionProblems has parsed every filter, and values become single literals.
  if (!parsed.ok) throw new Error(parsed.reason);
  return parsed;
}

function maskOf(text: string, column: string): Mask {
  const parsed = parseMask(text, column);
  // INVARIANT: conditionProblems has parsed every mask.
  if (!parsed.ok) throw new Error(parsed.reason);
  return { expression: parsed.expression, text };
}

/** Conditions with the values of one caller. */
export interface AppliedConditions extends Pick<CompiledConditions, 'columns' | 'masks'> {
  readonly rows: readonly FilterOfCaller[];
  /** Equal for equal rows. */
  readonly rowsKey: string;
  readonly key: string;
}

/** Characters of a literal besides its value. */
const LITERAL_LENGTH = 4;

/**
 * Characters of the filters with the values of one caller. A filter of a few thousand characters may contain a list a hundred times.
 * @returns undefined if the caller does not have a value that a filter uses, or only a list of them where a list is not possible
 */
export function lengthWith({ filters }: CompiledConditions, values: CallerValues): number | undefined {
  if (!filters.every(({ parsed }) => hasValues(parsed, values))) return undefined;
  let length = 0;
  for (const { text, parsed } of filters) {
    length += text.length;
    for (const [name, count] of parsed.counts)
      for (const value of valueNamed(values, name)?.values ?? [])
        length += count * (String(value).length + LITERAL_LENGTH);
  }
  return length;
}

interface Kept {
  readonly applied: Map<CompiledConditions, AppliedConditions>;
  length: number;
}

/** What was applied last for the values of a caller: a simulation asks for the same statements a thousand times, and a query for each of its tables. */
const keptBy = new WeakMap<CallerValues, Kept>();
/** Characters of filters that are kept for a caller. */
const MAX_KEPT_LENGTH = 256 * 1024;
/** Of a statement besides its filters, so that the number of statements is bounded, too. */
const KEPT_LENGTH = 1024;

/** @param values with all that the conditions use @param length of lengthWith() */
export function applyConditions(
  conditions: CompiledConditions,
  values: CallerValues,
  length = lengthWith(conditions, values) ?? 0,
): AppliedConditions {
  const kept = keptBy.get(values) ?? { applied: new Map<CompiledConditions, AppliedConditions>(), length: 0 };
  keptBy.set(values, kept);
  const known = kept.applied.get(conditions);
  if (known !== undefined) return known;
  const applied = withValues(conditions, values);
  const added = length + KEPT_LENGTH;
  kept.length += added;
  if (kept.length > MAX_KEPT_LENGTH) {
    kept.applied.clear();
    kept.length = added;
  }
  kept.applied.set(conditions, applied);
  return applied;
}

function withValues(conditions: CompiledConditions, values: CallerValues): AppliedConditions {
  const { filters, columns, masks, key } = conditions;
  const rows = filters.map(({ text, parsed }) => (parsed.uses.length === 0 ? parsed : filterOf(text, values)));
  const keys = filters.map(({ text, parsed: { uses } }) => [
    text,
    uses.map((name) => valueNamed(values, name)?.values),
  ]);
  return { rows, columns, masks, rowsKey: JSON.stringify(keys), key };
}
