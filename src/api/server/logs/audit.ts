import { withoutCredentials } from '../../../platform/credentials-in-text.ts';
import type { Decision, DecidingStatement } from '../../../access/authorizer.ts';
import type { Change } from '../../../access/manager/changes.ts';
import { formatSrn, type Srn } from '../../../access/policy/srn.ts';
import type { Clock } from '../../../platform/clock.ts';
import { jsonDifferences } from '../../../platform/json-diff.ts';
import { LruCache } from '../../../platform/lru.ts';
import type { Audit, RequestContext } from '../context.ts';
import type { Required, WriteOutcome } from '../audit.ts';
import { CLIENT_CLOSED, HttpError } from '../errors.ts';
import type { AuditRecord } from './audit-record.ts';

export interface AuditLogOptions {
  readonly write: (record: AuditRecord) => void;
  /** Why changes are refused: their records could not be written. Undefined while they can, or need not. */
  readonly problem?: () => string | undefined;
  readonly clock: Pick<Clock, 'now' | 'schedule'>;
}

/** Equal denied calls within a window of this length are one record, and one more with their number at its end. */
const DENIED_WINDOW_MS = 300_000;
/** Different denied calls of one caller in a window that have records of their own: a caller cannot rotate the records of others out of the file. */
const MAX_DENIED_OF_CALLER = 100;
/** Denied calls that are counted at the same time. The least recent one is recorded early where there are more. */
const MAX_DENIED = 2000;
/** Maximum characters of a name in a request. A longer name is denied. */
const MAX_NAME = 1024;
const MAX_STATEMENTS = 10;
const RETRY_AFTER_SECONDS = '5';
const LIMITS = { maxDifferences: 100, maxValueLength: 4096, maxLength: 16_384 };
const MAX_CHANGES = 20;

interface Denied {
  readonly record: AuditRecord;
  readonly since: number;
  /** Calls after the one that was recorded. */
  repeated: number;
}

/** The denied calls of one caller in the current window. */
interface DeniedOfCaller {
  /** Number of different ones. */
  different: number;
  /** Those without records of their own; undefined for none. */
  leftOut: Denied | undefined;
}

/** Writes one record for each write, and one for each denied call however often it is repeated, within a limit for each caller. */
export class AuditLog implements Audit {
  readonly #options: AuditLogOptions;
  /** Denied calls of the current window, which begins with the first of them. */
  readonly #denied = new LruCache<string, Denied>({
    maxWeight: MAX_DENIED,
    onEvict: (entry) => this.#summarize(entry),
  });
  readonly #callers = new LruCache<string, DeniedOfCaller>({
    maxWeight: MAX_DENIED,
    onEvict: (caller) => this.#summarizeLeftOut(caller),
  });
  #cancel: (() => void) | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
  }

  /** Records a call that was denied before it did anything. */
  denied(request: RequestContext, action: string, resource: Srn, decision: Decision): void {
    const key = `${request.principal.srn}\n${action}\n${srnView(resource)}`;
    const known = this.#denied.get(key);
    if (known !== undefined) {
      known.repeated++;
      return;
    }
    const caller = this.#callerOf(request.principal.srn);
    if (caller.leftOut !== undefined) {
      caller.leftOut.repeated++;
      return;
    }
    const record = { ...this.#record(request, { action, resource, decision, status: 403 }), type: 'denied' as const };
    const since = this.#options.clock.now();
    this.#cancel ??= this.#options.clock.schedule(() => this.close(), DENIED_WINDOW_MS);
    if (caller.different >= MAX_DENIED_OF_CALLER) {
      caller.leftOut = { record, since, repeated: 1 };
      return;
    }
    caller.different++;
    this.#write({ ...record, count: 1, since: record.time });
    this.#denied.set(key, { record, since, repeated: 0 });
  }

  #callerOf(srn: string): DeniedOfCaller {
    const known = this.#callers.get(srn);
    if (known !== undefined) return known;
    const caller = { different: 0, leftOut: undefined };
    this.#callers.set(srn, caller);
    return caller;
  }

  /** For writes, before they change anything. @throws {HttpError} 503 while records are required and cannot be written */
  requireWritable(): void {
    const problem = this.#options.problem?.();
    if (problem === undefined) return;
    throw new HttpError(503, `no change is made while the audit file cannot be written: ${problem}`, {
      headers: { 'retry-after': RETRY_AFTER_SECONDS },
    });
  }

  /** Records a write with its outcome. */
  written(request: RequestContext, outcome: WriteOutcome): void {
    this.#write(this.#record(request, outcome));
  }

  /** Ends the window: records the denied calls that were only counted. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const entry of this.#denied.values()) this.#summarize(entry);
    this.#denied.clear();
    for (const caller of this.#callers.values()) this.#summarizeLeftOut(caller);
    this.#callers.clear();
  }

  #record(request: RequestContext, outcome: WriteOutcome): AuditRecord {
    const {
      action,
      resource,
      decision,
      status,
      message,
      about,
      asked,
      changes,
      called,
      also = [],
      alsoCount,
    } = outcome;
    const { principal } = request;
    return {
      version: 1,
      type: 'write',
      time: new Date(this.#options.clock.now()).toISOString(),
      requestId: request.id,
      principal: principal.srn,
      authenticator: principal.authenticator,
      clientAddress: request.clientAddress,
      method: request.method,
      route: request.routeOptions.url ?? '',
      action,
      resource: srnView(resource),
      outcome: outcomeOf(status),
      status: status ?? CLIENT_CLOSED,
      decision: decision.reason,
      statements: decision.matchedStatements.slice(0, MAX_STATEMENTS).map(statementView),
      ...called,
      ...(also.length === 0 ? {} : { also: also.map(requiredView), alsoCount }),
      ...(message === undefined ? {} : { message }),
      ...about,
      ...(asked === undefined ? {} : { asked: bounded(asked) }),
      ...(changes === undefined ? {} : { changes: changes.slice(0, MAX_CHANGES).map(changeView) }),
    };
  }

  /** A token that was sent in place of a name must not get into the log. */
  #write(record: AuditRecord): void {
    this.#options.write(JSON.parse(withoutCredentials(JSON.stringify(record))) as AuditRecord);
  }

  #summarize({ record, repeated, since }: Denied): void {
    if (repeated === 0) return;
    const time = new Date(this.#options.clock.now()).toISOString();
    this.#write({ ...record, time, count: repeated, since: new Date(since).toISOString() });
  }

  #summarizeLeftOut({ leftOut }: DeniedOfCaller): void {
    if (leftOut !== undefined) this.#summarize({ ...leftOut, record: { ...leftOut.record, leftOut: true } });
  }
}

function srnView(resource: Srn): string {
  const text = formatSrn(resource);
  return text.length <= MAX_NAME ? text : `${text.slice(0, MAX_NAME)}…`;
}

function requiredView({ action, resource }: Pick<Required, 'action' | 'resource'>): {
  action: string;
  resource: string;
} {
  return { action, resource: srnView(resource) };
}

function outcomeOf(status: number | undefined): AuditRecord['outcome'] {
  if (status === undefined) return 'unknown';
  if (status === 403) return 'denied';
  if (status >= 500) return 'failed';
  return status >= 400 ? 'rejected' : 'succeeded';
}

function bounded(value: unknown): unknown {
  return jsonDifferences(undefined, value, LIMITS).differences[0]?.after;
}

function statementView({ role, policy, statementIndex, effect }: DecidingStatement): AuditRecord['statements'][number] {
  return {
    ...(role === undefined ? {} : { role }),
    ...(policy === undefined ? {} : { policy }),
    statementIndex,
    effect,
  };
}

function changeView({ kind, name, before, after }: Change): NonNullable<AuditRecord['changes']>[number] {
  const operation = before === undefined ? 'create' : after === undefined ? 'delete' : 'update';
  const { differences, truncated } = jsonDifferences(before, after, LIMITS);
  return { kind, name, operation, differences: [...differences], ...(truncated ? { truncated } : {}) };
}
