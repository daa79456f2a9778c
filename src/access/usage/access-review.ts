import type { Slices } from '../../platform/long-work.ts';
import { sorted } from '../../platform/sorted.ts';
import type { Policy } from '../../resources/kinds.ts';
import type { Subject, SubjectType } from '../../resources/role-assignment.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Directory } from '../directory.ts';
import { type ListPart, type ListRange, PartBuilder } from '../manager/list-part.ts';
import { createdAt, lastUpdatedAt } from '../manager/views.ts';
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
  readonly mayRead: (kind: ReadKind, name: string) => boolean;
  /** False where the caller may read none of the kind. */
  readonly mayReadAny: (kind: ReadKind) => boolean;
}

type ReadKind = 'role' | 'policy' | 'assignment' | 'service-token';

export interface AccessReview extends ListPart<Unused> {
  /** Number of entries of the whole list. */
  readonly total: number;
}

/** The ports of a gateway, without those of one request. */
export function reviewPorts(
  store: ResourceStore,
  directory: Directory,
): Omit<ReviewPorts, 'usage' | 'mayRead' | 'mayReadAny'> {
  return {
    store,
    tokenNameOf: (name) => directory.tokenNameOf(name) ?? name,
    accessKeyOf: (name) => directory.tokenByName(name)?.accessKey,
  };
}

/**
 * Roles, statements, assignments and service tokens that were not used in the last `unusedDays` days, of those that the caller may read, in the order of
 * `reviewKey`. Whatever is younger than `unusedDays` is omitted. While the record itself is younger, the list is empty. Predefined roles and policies are omitted.
 */
export function* accessReview(ports: ReviewPorts, unusedDays: number, range: ListRange = {}): Slices<AccessReview> {
  const { usage } = ports;
  const latestUnusedSince = usage.day - unusedDays;
  const part = new PartBuilder<Unused>(range);
  const { after } = range;
  let total = 0;
  for (const candidate of candidates(ports)) {
    yield;
    if (candidate === undefined) continue;
    const { key, existsSince, ...item } = candidate;
    const lastUsed = usage.lastUsed(key);
    const unusedSince = Math.max(existsSince, lastUsed === undefined ? usage.since : lastUsed + 1);
    if (unusedSince > latestUnusedSince) continue;
    total++;
    if (part.hasMore || (after !== undefined && reviewKey(item) <= after)) continue;
    const lastUsedAt = lastUsed === undefined ? null : formatDay(lastUsed);
    part.add(Object.assign(item, { lastUsedAt, unusedSince: formatDay(unusedSince) }));
  }
  return { items: part.items, hasMore: part.hasMore, total };
}

/** Sort key of a review. */
export function reviewKey(item: Omit<Unused, 'lastUsedAt' | 'unusedSince'>): string {
  const { kind, role, policy, serviceToken, statementIndex = 0, subjectType, subject } = item;
  const name = role ?? policy ?? serviceToken ?? '';
  return [kind, name, String(statementIndex).padStart(5, '0'), subjectType ?? '', subject ?? ''].join(' ');
}

/** Keys of everything that exists, for the limit of the record. */
export function* liveUsageKeys(
  ports: Omit<ReviewPorts, 'mayRead' | 'mayReadAny' | 'usage'>,
): Slices<ReadonlySet<string>> {
  const keys = new Set<string>();
  for (const candidate of candidates({ ...ports, mayRead: () => true, mayReadAny: () => true }, true)) {
    if (candidate !== undefined) keys.add(candidate.key);
    yield;
  }
  return keys;
}

type Candidate = Omit<Unused, 'lastUsedAt' | 'unusedSince'> & { readonly key: string; readonly existsSince: Day };

/** In the order of `reviewKey`. Undefined for parts of the work that find none. */
type Candidates = Generator<Candidate | undefined, undefined, undefined>;

function* candidates(ports: Omit<ReviewPorts, 'usage'>, predefined = false): Candidates {
  const { mayReadAny } = ports;
  const isReviewed = (name: string): boolean => predefined || !isPredefined(name);
  if (mayReadAny('assignment')) yield* assignments(ports);
  if (mayReadAny('role')) yield* roles(ports, isReviewed);
  if (mayReadAny('service-token')) yield* serviceTokens(ports);
  if (mayReadAny('policy')) yield* statements(ports, isReviewed);
}

function* roles({ store, mayRead }: Omit<ReviewPorts, 'usage'>, isReviewed: (name: string) => boolean): Candidates {
  for (const { metadata, spec } of store.list('Role')) {
    yield;
    const { name: role } = metadata;
    if (!isReviewed(role) || !mayRead('role', role)) continue;
    const key = roleUsageKey(role);
    yield { kind: 'role', role, ...described(spec), key, existsSince: dayOfText(createdAt(metadata)) };
  }
}

function* serviceTokens({ store, mayRead, accessKeyOf }: Omit<ReviewPorts, 'usage'>): Candidates {
  for (const { metadata, spec } of store.list('ServiceToken')) {
    yield;
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

function* statements(
  { store, mayRead }: Omit<ReviewPorts, 'usage'>,
  isReviewed: (name: string) => boolean,
): Candidates {
  for (const policy of store.list('Policy')) {
    yield;
    const { name } = policy.metadata;
    if (isReviewed(name) && mayRead('policy', name)) yield* statementsOf(policy);
  }
}

function* statementsOf({ metadata, spec }: Policy): Candidates {
  const { name } = metadata;
  // A changed statement gets a new key. It has no time of change, so that of its policy is used.
  const existsSince = dayOfText(lastUpdatedAt(metadata));
  for (const [statementIndex, statement] of spec.statements.entries()) {
    const key = statementUsageKey(name, statement);
    yield { kind: 'statement', policy: name, statementIndex, ...described(statement), key, existsSince };
  }
}

function* assignments({ store, mayRead, tokenNameOf, accessKeyOf }: Omit<ReviewPorts, 'usage'>): Candidates {
  const found = new Map<string, Candidate>();
  const canonical = ({ type, name }: Subject) => ({ type, name: type === 'service-token' ? tokenNameOf(name) : name });
  for (const { metadata, spec } of store.list('RoleAssignment')) {
    yield;
    if (!mayRead('assignment', spec.role)) continue;
    const existsSince = dayOfText(createdAt(metadata));
    for (const { type, name } of spec.subjects.map(canonical)) {
      const key = assignmentUsageKey(spec.role, { type, name });
      if (found.has(key)) continue;
      const subject = type === 'service-token' ? (accessKeyOf(name) ?? name) : name;
      found.set(key, { kind: 'assignment', role: spec.role, subject, subjectType: type, key, existsSince });
    }
  }
  for (const candidate of yield* sorted(found.values(), reviewKey)) yield candidate;
}

function described({ description }: { readonly description?: string }): { description?: string } {
  return description === undefined ? {} : { description };
}

function dayOfText(text: string): Day {
  return dayOf(Date.parse(text));
}
