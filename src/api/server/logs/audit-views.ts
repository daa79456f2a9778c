import type { Decision } from '../../../access/authorizer.ts';
import type { Change } from '../../../access/manager/changes.ts';
import { formatSrn, type Srn } from '../../../access/policy/srn.ts';
import type { Principal } from '../../../access/principal.ts';
import { jsonDifferences } from '../../../platform/json-diff.ts';
import type { Required } from '../audit.ts';
import type { AuditRecord } from './audit-record.ts';

/*
 * The parts of an audit record, with a limit on the size of each.
 */

/** Maximum characters of a name in a request. A longer name is denied. */
const MAX_NAME = 1024;
const MAX_STATEMENTS = 10;
const MAX_GROUPS = 20;
const MAX_GROUP = 128;
const MAX_CHANGES = 20;
/** Characters of all values of a record. */
const MAX_VALUES = 8192;
const ASKED_LIMITS = { maxDifferences: 1, maxValueLength: 2048, maxLength: 2048 };
const MAX_MESSAGE = 2048;

export function callerView({ srn, authenticator, groups }: Principal) {
  return {
    principal: srn,
    authenticator,
    ...(groups.length === 0 ? {} : { groups: groups.slice(0, MAX_GROUPS).map((group) => shortened(group, MAX_GROUP)) }),
    ...(groups.length > MAX_GROUPS && { groupCount: groups.length }),
  };
}

export function srnView(resource: Srn): string {
  return shortened(formatSrn(resource), MAX_NAME);
}

function shortened(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length)}…`;
}

export function requiredView({ action, resource }: Pick<Required, 'action' | 'resource'>): {
  action: string;
  resource: string;
} {
  return { action, resource: srnView(resource) };
}

export function outcomeOf(status: number | undefined): AuditRecord['outcome'] {
  if (status === undefined) return 'unknown';
  if (status === 403) return 'denied';
  if (status >= 500) return 'failed';
  return status >= 400 ? 'rejected' : 'succeeded';
}

export function messageView(message: string): string {
  return shortened(message, MAX_MESSAGE);
}

export function askedView(asked: unknown): unknown {
  return jsonDifferences(undefined, asked, ASKED_LIMITS).differences[0]?.after;
}

export function statementViews({
  matchedStatements,
}: Pick<Decision, 'matchedStatements'>): NonNullable<AuditRecord['statements']> {
  return matchedStatements.slice(0, MAX_STATEMENTS).map(({ role, policy, statementIndex, effect }) => {
    const names = { ...(role === undefined ? {} : { role }), ...(policy === undefined ? {} : { policy }) };
    return Object.assign(names, { statementIndex, effect });
  });
}

/** The changes, with values cut so that a record of several has not more of them than one of a single change. */
export function changesView(changes: readonly Change[]): NonNullable<AuditRecord['changes']> {
  const listed = changes.slice(0, MAX_CHANGES);
  const maxLength = Math.floor(MAX_VALUES / Math.max(1, listed.length));
  const limits = { maxDifferences: Math.ceil(100 / Math.max(1, listed.length)), maxValueLength: 2048, maxLength };
  return listed.map(({ kind, name, before, after }) => {
    const operation: 'create' | 'update' | 'delete' =
      before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
    const { differences, truncated } = jsonDifferences(before, after, limits);
    const view = { kind, name, operation, differences: [...differences] };
    return truncated ? Object.assign(view, { truncated: true as const }) : view;
  });
}
