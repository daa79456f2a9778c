import type { Decision } from '../../authorizer.ts';
import type { Reading, TableConditions } from '../../conditions.ts';
import type { CallerValues } from '../../sql/row-filter.ts';
import type { CompiledStatement } from '../compiled-policy.ts';
import type { GrantSet, Judgement } from '../grants/grant-set.ts';
import type { Question } from '../question.ts';
import { shownValues } from './caller-values.ts';
import { applyConditions, lengthWith, type AppliedConditions } from './compiled-conditions.ts';
import { unionOf } from './union.ts';

/** What a caller may read of a table by statements with conditions. */
export interface PartlyAllowed {
  readonly reading: Reading;
  /** Undefined if they allow everything together. */
  readonly conditions: TableConditions | undefined;
  /** Those that apply, at least one. */
  readonly statements: readonly CompiledStatement[];
}

/** Conditions for display. Without fields: statements with conditions allow everything together. */
export interface ShownConditions {
  /** Rows of any alternative; all filters of an alternative must hold. Absent: all rows. */
  readonly rowFilters?: string[][];
  /** As in a statement; absent: all columns. */
  readonly columns?: {
    readonly allow?: string[];
    readonly deny?: string[];
    readonly mask?: Record<string, string>;
  };
  /** The values of the caller in the filters, by name such as `subject.email`. */
  readonly values?: Record<string, string[]>;
}

/** A decision for display. */
export interface PartialDecision extends Decision {
  /** Where it is `conditional`. */
  readonly conditions?: ShownConditions;
}

/** Characters of all filters of a table with the values of the caller. Statements beyond are left out: a query with more could not be sent. */
const MAX_LENGTH = 256 * 1024;

/** @returns undefined if no statement with conditions allows the question to a caller with these values */
export function partOf(
  grants: GrantSet,
  question: Question,
  judgement: Judgement,
  valuesOf: () => CallerValues,
): PartlyAllowed | undefined {
  const candidates = grants.conditional(question, judgement);
  return candidates.length === 0 ? undefined : partOfStatements(candidates, valuesOf());
}

/** @param candidates statements that match the question; those without conditions are left out */
export function partOfStatements(
  candidates: readonly CompiledStatement[],
  values: CallerValues,
): PartlyAllowed | undefined {
  const statements: CompiledStatement[] = [];
  const applied: AppliedConditions[] = [];
  let length = 0;
  for (const statement of candidates) {
    const { conditions } = statement;
    const added = conditions && lengthWith(conditions, values);
    if (conditions === undefined || added === undefined) continue;
    length += added;
    if (length > MAX_LENGTH) break;
    statements.push(statement);
    applied.push(applyConditions(conditions, values, added));
  }
  if (applied.length === 0) return undefined;
  const conditions = unionOf(applied);
  return { reading: { allowed: true, conditions }, conditions, statements };
}

/** @param values with which the statements apply */
export function shownConditions({ conditions, statements }: PartlyAllowed, values: CallerValues): ShownConditions {
  if (conditions === undefined) return {};
  const { columns, masks, rows } = conditions;
  const names = columns && { [columns.kind]: [...columns.names].sort() };
  const mask = masks.size === 0 ? undefined : Object.fromEntries([...masks].map(([name, { text }]) => [name, text]));
  if (rows === undefined) return { ...((names ?? mask) && { columns: { ...names, ...(mask && { mask }) } }) };
  const filters = statements.flatMap((statement) => (statement.conditions ? [statement.conditions.filters] : []));
  const alternatives = new Map(filters.map((all) => [JSON.stringify(all.map(({ text }) => text)), all]));
  const uses = new Set(filters.flat().flatMap(({ parsed }) => parsed.uses));
  return {
    rowFilters: [...alternatives.values()].map((all) => all.map(({ text }) => text)),
    ...((names ?? mask) && { columns: { ...names, ...(mask && { mask }) } }),
    ...(uses.size > 0 && { values: shownValues(values, uses) }),
  };
}

export function conditionalDecision(grants: GrantSet, { statements }: PartlyAllowed): Decision {
  return { allowed: false, reason: 'conditional', matchedStatements: grants.deciding(statements) };
}
