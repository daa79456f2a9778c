import type { TableName } from '../../pinot/table-name.ts';
import type { ResultRecord } from '../result-store.ts';

/**
 * `queued`: waits for a free place. `running`: the engine runs the query. `storing`: rows arrive and are stored. `done`: the result can be read. `failed` and
 * `cancelled`: nothing is stored.
 */
export const RUN_STATES = ['queued', 'running', 'storing', 'done', 'failed', 'cancelled'] as const;
export type RunState = (typeof RUN_STATES)[number];

/** Why a query has no result. `status` is the HTTP status that a synchronous submission would have got. */
export interface RunError {
  readonly status: number;
  readonly message: string;
  /** Those of the engine, where it responded with some: without rows, and of bounded length. */
  readonly exceptions?: readonly EngineException[];
}

export interface EngineException {
  /** The engine's own code, such as 150 for a text that it cannot parse; undefined where it has none. */
  readonly errorCode?: number;
  readonly message: string;
}

/** The state of a query whose result is stored. Times are epoch milliseconds. */
export interface RunStatus {
  readonly requestId: string;
  /** The gateway that runs or ran the query. */
  readonly brokerId: string;
  /** SRN of the principal that submitted it. */
  readonly owner: string;
  /** Undefined for results of releases that did not record it. */
  readonly sql?: string;
  readonly tables: readonly TableName[];
  readonly state: RunState;
  readonly submissionTimeMs: number;
  /** When the engine was asked; undefined while the query waits, and for results of synchronous submissions. */
  readonly startTimeMs?: number;
  /** When the query was done, failed or cancelled. */
  readonly endTimeMs?: number;
  /** Rows so far. */
  readonly rowCount: number;
  /** Bytes of rows so far. */
  readonly bytes: number;
  /** When the result, or this state of a query without result, is forgotten; undefined until the query has ended. */
  readonly expirationTimeMs?: number;
  readonly error?: RunError;
  /** Whether a gateway was asked to cancel the query, which has not ended yet. */
  readonly cancelRequested?: boolean;
  readonly warnings?: readonly string[];
  /** Why the result cannot be read, or not all of it. */
  readonly damaged?: string;
}

/** Whether the query has not ended yet. */
export function isActive({ state }: Pick<RunStatus, 'state'>): boolean {
  return state === 'queued' || state === 'running' || state === 'storing';
}

/** The status of a stored result. @param damaged why it cannot be read, where that is known */
export function statusOfRecord(record: ResultRecord, damaged?: string): RunStatus {
  const { requestId, brokerId, owner, sql, tables, submissionTimeMs, storedTimeMs, expirationTimeMs } = record;
  return {
    requestId,
    brokerId,
    owner,
    ...(sql !== undefined && { sql }),
    tables,
    state: 'done',
    submissionTimeMs,
    ...(storedTimeMs !== undefined && { endTimeMs: storedTimeMs }),
    rowCount: record.rowCount,
    bytes: record.rowBytes,
    expirationTimeMs,
    ...(record.warnings !== undefined && { warnings: record.warnings }),
    ...(damaged !== undefined && { damaged }),
  };
}

/** The status as it is kept for other gateways, and for this one after a restart. */
export interface RunNote {
  readonly version: 1;
  /** The process that runs the query: another process with the same `brokerId` knows that it has ended. */
  readonly instance: string;
  readonly status: RunStatus;
}

export function noteToJson(note: RunNote): string {
  return JSON.stringify(note);
}

const STRINGS = ['requestId', 'brokerId', 'owner'] as const;
const NUMBERS = ['submissionTimeMs', 'rowCount', 'bytes'] as const;
const OPTIONAL_NUMBERS = ['startTimeMs', 'endTimeMs', 'expirationTimeMs'] as const;

/** @returns undefined if this version cannot have written it */
export function noteFromJson(json: string): RunNote | undefined {
  const note = parsed(json);
  const status = note?.['status'] as Record<string, unknown> | null | undefined;
  if (note === undefined || note['version'] !== 1 || typeof note['instance'] !== 'string') return undefined;
  if (typeof status !== 'object' || status === null) return undefined;
  const isValid =
    STRINGS.every((name) => typeof status[name] === 'string') &&
    NUMBERS.every((name) => Number.isSafeInteger(status[name])) &&
    areTexts(status['tables']) &&
    (RUN_STATES as readonly unknown[]).includes(status['state']) &&
    areOptional(status);
  return isValid ? (note as unknown as RunNote) : undefined;
}

function areOptional(status: Readonly<Record<string, unknown>>): boolean {
  const { sql, cancelRequested, warnings, error } = status;
  return (
    OPTIONAL_NUMBERS.every((name) => status[name] === undefined || Number.isSafeInteger(status[name])) &&
    ['string', 'undefined'].includes(typeof sql) &&
    ['boolean', 'undefined'].includes(typeof cancelRequested) &&
    (warnings === undefined || areTexts(warnings)) &&
    (error === undefined || isRunError(error))
  );
}

function areTexts(value: unknown): boolean {
  return Array.isArray(value) && value.every((text) => typeof text === 'string');
}

function isRunError(value: unknown): boolean {
  const { status, message, exceptions } = (value ?? {}) as Record<string, unknown>;
  const areKnown = exceptions === undefined || (Array.isArray(exceptions) && exceptions.every(isException));
  return Number.isSafeInteger(status) && typeof message === 'string' && areKnown;
}

function isException(value: unknown): boolean {
  const { errorCode, message } = (value ?? {}) as Record<string, unknown>;
  return typeof message === 'string' && (errorCode === undefined || Number.isSafeInteger(errorCode));
}

/** States that a process with asynchronous queries is running. */
export interface AliveNote {
  readonly instance: string;
  /** Epoch milliseconds. */
  readonly atMs: number;
}

/** @returns undefined if this version cannot have written it */
export function aliveFromJson(json: string): AliveNote | undefined {
  const { instance, atMs } = parsed(json) ?? {};
  return typeof instance === 'string' && Number.isSafeInteger(atMs) ? { instance, atMs: atMs as number } : undefined;
}

function parsed(json: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
