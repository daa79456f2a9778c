import { WorkSlices } from '../../platform/work-slices.ts';
import type { Policy } from '../../resources/kinds.ts';
import type { Subject, SubjectType } from '../../resources/role-assignment.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Directory } from '../directory.ts';
import { createdAt, policyView } from '../manager/views.ts';
import { isPredefined } from '../policy/predefined.ts';
import { assignmentUsageKey, roleUsageKey, statementUsageKey, tokenUsageKey } from './usage-keys.ts';
import { dayOf, formatDay, type Day } from './usage-record.ts';
import type { UsageTracker } from './usage-tracker.ts';

export const REVIEWED_KINDS = ['role', 'statement', 'assignment', 'service-token'] as const;

/** A role, statement, assignment or service token that was not used for a period. */
export interface Unused {
  readonly kind: (typeof REVIEWED_KINDS)[number];
  /** Of a role or an assignment. */
  readonly role?: string;
  /** Of a statement. */
  readonly policy?: string;
  readonly statementIndex?: number;
  /** Of an assignment; a service token by its access key. */
  readonly subject?: string;
  readonly subjectType?: SubjectType;
  /** Name of a ServiceToken object. */
  readonly serviceToken?: string;
  readonly description?: string;
  /** Day of the last use; null if none is recorded. */
  readonly lastUsedAt: string | null;
  /**
   * First day of the period without use: the day after the last use, but not before the creation (of a statement: the last change of its
   * policy) and not before the first day of the record.
   */
  readonly unusedSince: string;
}

export interface ReviewPorts {
  readonly store: Pick<ResourceStore, 'list'>;
  readonly usage: Pick<UsageTracker, 'lastUsed' | 'since' | 'day'>;
  /** The object name of a service token in an assignment. */
  readonly tokenNameOf: (nameOrAccessKey: string) => string;
  readonly accessKeyOf: (tokenName: string) => string | undefined;
  /** Whether the caller may read it. */
  readonly mayRead: (kind: 'role' | 'policy' | 'assignment' | 'service-token', name: string) => boolean;
}

/** The ports of a gateway, without those of one request. */
export function reviewPorts(store: ResourceStore, directory: Directory): Omit<ReviewPorts, 'usage' | 'mayRead'> {
  return {
    store,
    tokenNameOf: (name) => directory.tokenNameOf(name) ?? name,
    accessKeyOf: (name) => directory.tokenByName(name)?.accessKey,
  };
}

export const ITEMS_PER_SLICE = 1000;

/**
 * Roles, statements, assignments and service tokens that were not used in the last `unusedDays` days, of those that the caller may read.
 * Whatever is younger than `unusedDays` is omitted. While the record itself is younger, the list is empty. Predefined roles and policies are omitted.
 */
export async function accessReview(ports: ReviewPorts, unusedDays: number): Promise<Unused[]> {
  const slices = new WorkSlices(ITEMS_PER_SLICE);
  const latestUnusedSince = ports.usage.day - unusedDays;
  const unused: Unused[] = [];
  for (const candidate of candidates(ports)) {
    await slices.spend(1);
    const { key, existsSince, ...item } = candidate;
    const lastUsed = ports.usage.lastUsed(key);
    const unusedSince = Math.max(existsSince, lastUsed === undefined ? ports.usage.since : lastUsed + 1);
    if (unusedSince > latestUnusedSince) continue;
    const lastUsedAt = lastUsed === undefined ? null : formatDay(lastUsed);
    unused.push(Object.assign(item, { lastUsedAt, unusedSince: formatDay(unusedSince) }));
  }
  return unused;
}

/** Keys of everything that exists, for the limit of the record. */
export async function liveUsageKeys(ports: Omit<ReviewPorts, 'mayRead' | 'usage'>): Promise<ReadonlySet<string>> {
  const slices = new WorkSlices(ITEMS_PER_SLICE);
  const keys = new Set<string>();
  for (const { key } of candidates({ ...ports, mayRead: () => true }, true)) {
    keys.add(key);
    await slices.spend(1);
  }
  return keys;
}

type Candidate = Omit<Unused, 'lastUsedAt' | 'unusedSince'> & { readonly key: string; readonly existsSince: Day };

function* candidates(ports: Omit<ReviewPorts, 'usage'>, predefined = false): Generator<Candidate, undefined, void> {
  const { store, mayRead, accessKeyOf } = ports;
  const isReviewed = (name: string): boolean => predefined || !isPredefined(name);
  for (const { metadata, spec } of store.list('Role')) {
    const { name: role } = metadata;
    if (!isReviewed(role) || !mayRead('role', role)) continue;
    yield {
      kind: 'role',
      role,
      ...described(spec),
      key: roleUsageKey(role),
      existsSince: dayOfText(createdAt(metadata)),
    };
  }
  for (const policy of store.list('Policy')) {
    const { name } = policy.metadata;
    if (isReviewed(name) && mayRead('policy', name)) yield* statementsOf(policy);
  }
  yield* assignments(ports);
  for (const { metadata, spec } of store.list('ServiceToken')) {
    const { name } = metadata;
    if (!mayRead('service-token', name)) continue;
    yield {
      kind: 'service-token',
      serviceToken: name,
      subject: accessKeyOf(name) ?? name,
      subjectType: 'service-token',
      ...described(spec),
      key: tokenUsageKey(name),
      existsSince: dayOfText(createdAt(metadata)),
    };
  }
}

function* statementsOf(policy: Policy): Generator<Candidate, undefined, void> {
  const { name } = policy.metadata;
  // A changed statement gets a new key. It has no time of change, so that of its policy is used.
  const existsSince = dayOfText(policyView(policy).lastUpdatedAt);
  for (const [statementIndex, statement] of policy.spec.statements.entries()) {
    const key = statementUsageKey(name, statement);
    yield { kind: 'statement', policy: name, statementIndex, ...described(statement), key, existsSince };
  }
}

function* assignments({
  store,
  mayRead,
  tokenNameOf,
  accessKeyOf,
}: Omit<ReviewPorts, 'usage'>): Generator<Candidate, undefined, void> {
  const seen = new Set<string>();
  const canonical = ({ type, name }: Subject) => ({ type, name: type === 'service-token' ? tokenNameOf(name) : name });
  for (const { metadata, spec } of store.list('RoleAssignment')) {
    if (!mayRead('assignment', spec.role)) continue;
    const existsSince = dayOfText(createdAt(metadata));
    for (const { type, name } of spec.subjects.map(canonical)) {
      const key = assignmentUsageKey(spec.role, { type, name });
      if (seen.has(key)) continue;
      seen.add(key);
      const subject = type === 'service-token' ? (accessKeyOf(name) ?? name) : name;
      yield { kind: 'assignment', role: spec.role, subject, subjectType: type, key, existsSince };
    }
  }
}

function described({ description }: { readonly description?: string }): { description?: string } {
  return description === undefined ? {} : { description };
}

function dayOfText(text: string): Day {
  return dayOf(Date.parse(text));
}
