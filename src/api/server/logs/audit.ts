import { withoutCredentials } from '../../../platform/credentials-in-text.ts';
import type { Decision } from '../../../access/authorizer.ts';
import type { Srn } from '../../../access/policy/srn.ts';
import type { Principal } from '../../../access/principal.ts';
import type { Clock } from '../../../platform/clock.ts';
import { LruCache } from '../../../platform/lru.ts';
import type { Audit, RequestContext } from '../context.ts';
import type { Login, WriteOutcome } from '../audit.ts';
import { CLIENT_CLOSED, HttpError } from '../errors.ts';
import type { AuditRecord } from './audit-record.ts';
import {
  askedView,
  callerView,
  changesView,
  messageView,
  outcomeOf,
  requiredView,
  srnView,
  statementViews,
} from './audit-views.ts';
import { AuditShares, type AuditFileKind, type ShareOptions } from './audit-shares.ts';

export interface AuditLogOptions extends ShareOptions {
  /** False where records are in the log only, which no caller can fill: changes are not refused. True by default. */
  readonly hasFile?: boolean;
  readonly write: (record: AuditRecord, file: AuditFileKind) => void;
  /** Why changes are refused: their records could not be written. Undefined while they can, or need not. */
  readonly problem?: () => string | undefined;
  readonly clock: Pick<Clock, 'now' | 'monotonic' | 'schedule'>;
  /** Whether a caller has the role `system-admin`; its records are in a file of their own. */
  readonly isAdministrator?: (principal: Principal) => boolean;
  /** The SRN whose share the records of a caller take: that of its owner, so that nobody has more shares by creating service tokens. */
  readonly responsibleFor?: (caller: string) => string;
  /** True where no write is made whose record would be left out. Changes of access are never left out. */
  readonly required?: boolean;
  /** Called for each record that is left out. */
  readonly onLeftOut?: () => void;
}

/** Equal refused calls within a window of this length are one record, and one more with their number at its end. */
const WINDOW_MS = 300_000;
/** Refused calls that are counted at the same time. The least recent one is recorded early where there are more. */
const MAX_REPEATED = 2000;
const RETRY_AFTER_SECONDS = '5';

interface Repeated {
  readonly record: AuditRecord;
  readonly file: AuditFileKind;
  readonly since: number;
  /** Calls after the one that was recorded. */
  repeated: number;
}

/**
 * Writes one record for each write, and one for each refused call however often it is repeated. The records of one caller take a share of the file:
 * nobody can rotate the records of others out of it.
 */
export class AuditLog implements Audit {
  readonly #options: AuditLogOptions;
  readonly #shares: AuditShares;
  /** Refused calls of the current window, which begins with the first of them. */
  readonly #refused = new LruCache<string, Repeated>({
    maxWeight: MAX_REPEATED,
    onEvict: (entry) => this.#summarize(entry),
  });
  /** By caller and share: the records that were left out in the current window. */
  readonly #leftOut = new LruCache<string, Repeated>({
    maxWeight: MAX_REPEATED,
    onEvict: (entry) => this.#summarizeLeftOut(entry),
  });
  #cancel: (() => void) | undefined;

  constructor(options: AuditLogOptions) {
    this.#options = options;
    this.#shares = new AuditShares(options.clock, options);
  }

  /** Records a call that was denied before it did anything. */
  denied(request: RequestContext, action: string, resource: Srn, decision: Decision): void {
    const record = this.#record(request, { action, resource, decision, status: 403 });
    this.#add({ ...record, type: 'denied' }, this.#fileOf(request.principal, 'calls'));
  }

  /**
   * For writes, before they change anything.
   * @param changes `access` for those whose record lists what was written
   * @throws {HttpError} 503 while records are required and cannot be written; 429 where the record would exceed the share of the caller
   */
  requireWritable({ principal }: Pick<RequestContext, 'principal'>, changes: 'access' | 'calls'): void {
    const problem = this.#options.problem?.();
    if (problem !== undefined) {
      throw new HttpError(503, `no change is made while the audit file cannot be written: ${problem}`, {
        headers: { 'retry-after': RETRY_AFTER_SECONDS },
      });
    }
    if (this.#options.hasFile === false || (changes !== 'access' && this.#options.required !== true)) return;
    const caller = this.#responsibleFor(principal.srn);
    const wait = this.#shares.wait({ caller, file: this.#fileOf(principal, changes), isDone: true });
    if (wait === 0) return;
    throw new HttpError(
      429,
      'the records of your changes would exceed the share of the audit file that one caller may fill in an hour: change less, or several things in one request',
      { headers: { 'retry-after': String(Math.ceil(wait / 1000)) } },
    );
  }

  /** Records a write with its outcome. */
  written(request: RequestContext, outcome: WriteOutcome): void {
    const record = this.#record(request, outcome);
    const isChange = record.changes !== undefined && !isRefused(record);
    this.#add(record, this.#fileOf(request.principal, isChange ? 'access' : 'calls'));
  }

  /** Records a sign-in, a sign-out or a failed login. */
  login(request: RequestContext, { action, status, message, principal }: Login): void {
    const record: AuditRecord = {
      ...this.#requestPart(request),
      type: 'login',
      ...(principal === undefined ? {} : callerView(principal)),
      action,
      outcome: status === 401 ? 'denied' : outcomeOf(status),
      status,
      ...(message === undefined ? {} : { message: messageView(message) }),
    };
    this.#add(record, principal === undefined ? 'calls' : this.#fileOf(principal, 'calls'));
  }

  /** Ends the window: records the calls that were only counted. */
  close(): void {
    this.#cancel?.();
    this.#cancel = undefined;
    for (const entry of this.#refused.values()) this.#summarize(entry);
    this.#refused.clear();
    for (const entry of this.#leftOut.values()) this.#summarizeLeftOut(entry);
    this.#leftOut.clear();
  }

  #responsibleFor(caller: string): string {
    return this.#options.responsibleFor?.(caller) ?? caller;
  }

  #fileOf(principal: Principal, otherwise: 'access' | 'calls'): AuditFileKind {
    return this.#options.isAdministrator?.(principal) === true ? 'administrators' : otherwise;
  }

  /** Counts a refused call that is equal to an earlier one of the window; records any other. */
  #add(record: AuditRecord, file: AuditFileKind): void {
    if (!isRefused(record)) {
      this.#write(record, file);
      return;
    }
    const { principal = record.clientAddress, action, resource, path, status, message } = record;
    const key = [principal, action, resource, path, status, message].join('\n');
    const known = this.#refused.get(key);
    if (known !== undefined) {
      known.repeated++;
      return;
    }
    this.#openWindow();
    // Those that are left out are counted together, so that they do not take the places of others here.
    if (!this.#write({ ...record, count: 1, since: record.time }, file)) return;
    this.#refused.set(key, { record, file, since: this.#options.clock.now(), repeated: 0 });
  }

  #openWindow(): void {
    this.#cancel ??= this.#options.clock.schedule(() => this.close(), WINDOW_MS);
  }

  /**
   * Writes a record if the share of its caller has room. That of a change with its differences is always written: requireWritable() was called before.
   * @returns whether it was written
   */
  #write(sent: AuditRecord, file: AuditFileKind): boolean {
    // A token that was sent in place of a name must not get into the log.
    const text = withoutCredentials(JSON.stringify(sent));
    const record = JSON.parse(text) as AuditRecord;
    const isDone = !isRefused(record);
    const caller = record.principal === undefined ? undefined : this.#responsibleFor(record.principal);
    const share = { caller, file, isDone };
    const isFree = isDone && record.changes !== undefined;
    if (this.#shares.take(share, Buffer.byteLength(text), isFree)) {
      this.#options.write(record, file);
      return true;
    }
    this.#options.onLeftOut?.();
    const key = JSON.stringify(share);
    const known = this.#leftOut.get(key);
    const { count = 1 } = record;
    if (known !== undefined) {
      known.repeated += count;
      return false;
    }
    this.#openWindow();
    const { asked: _asked, changes: _changes, ...short } = record;
    this.#leftOut.set(key, { record: short, file, since: this.#options.clock.now(), repeated: count });
    return false;
  }

  #requestPart(request: RequestContext) {
    return {
      version: 1,
      time: new Date(this.#options.clock.now()).toISOString(),
      requestId: request.id,
      clientAddress: request.clientAddress,
      method: request.method,
      route: request.routeOptions.url ?? '',
    } as const;
  }

  #record(request: RequestContext, outcome: WriteOutcome): AuditRecord {
    const { action, resource, decision, status, message, about, asked, changes, called } = outcome;
    const { also = [], alsoCount } = outcome;
    return {
      ...this.#requestPart(request),
      type: 'write',
      ...callerView(request.principal),
      action,
      resource: srnView(resource),
      outcome: outcomeOf(status),
      status: status ?? CLIENT_CLOSED,
      decision: decision.reason,
      statements: statementViews(decision),
      ...called,
      ...(also.length === 0 ? {} : { also: also.map(requiredView), alsoCount }),
      ...(message === undefined ? {} : { message: messageView(message) }),
      ...about,
      ...(asked === undefined ? {} : { asked: askedView(asked) }),
      ...(changes === undefined ? {} : { changes: changesView(changes) }),
    };
  }

  #summarize({ record, repeated, since, file }: Repeated): void {
    if (repeated > 0) this.#write(this.#summary(record, repeated, since), file);
  }

  /** At most one for each share and window, so they need no room in it. */
  #summarizeLeftOut({ record, repeated, since, file }: Repeated): void {
    this.#options.write({ ...this.#summary(record, repeated, since), leftOut: true }, file);
  }

  #summary(record: AuditRecord, count: number, since: number): AuditRecord {
    const time = new Date(this.#options.clock.now()).toISOString();
    return { ...record, time, count, since: new Date(since).toISOString() };
  }
}

/** Whether nothing was done. */
function isRefused({ outcome, changes }: AuditRecord): boolean {
  return outcome !== 'succeeded' && outcome !== 'unknown' && (changes ?? []).length === 0;
}
