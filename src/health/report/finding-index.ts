import { gunzipSync, gzipSync } from 'node:zlib';
import { SEVERITIES, type Finding } from '../../resources/health-finding.ts';

/** Limit of the encoded index, base64. The report must leave room for the rest of the status. */
export const MAX_INDEX_LENGTH = 128 * 1024;
/** Findings of all checks in an index. */
export const MAX_INDEXED_TOTAL = 20_000;
/** A longer text is not compressed, which would take long: names and numbers hardly become that much smaller. */
const MAX_JSON_LENGTH = 3 * 1024 * 1024;
/** A longer message of a finding is cut. */
const MAX_MESSAGE = 200;
/** Decoded, 20,000 findings take less; anything larger was not written by this program. */
const MAX_DECODED_BYTES = 32 * 1024 * 1024;

/** All findings of a report by check, and the names of what was examined. */
export interface FindingIndex {
  /** Names of the tables, with type suffix; undefined if they are not known. */
  readonly tables: readonly string[] | undefined;
  /** Ids of the instances; undefined if they are not known. */
  readonly instances: readonly string[] | undefined;
  readonly findings: ReadonlyMap<string, readonly Finding[]>;
  /** Faults that earlier runs found, of checks that the latest run could not evaluate: only entity and time are known. */
  readonly carried: ReadonlyMap<string, readonly Finding[]>;
  /** False if it does not have all findings. */
  readonly complete: boolean;
}

/** Entity type, entity, time in seconds, message, measured value, allowed value, severity, 1 for data that could not be read, id of the cause. */
type Row = [string, string, number, string, string, string, number, number, string?];

interface Encoded {
  readonly tables?: readonly string[];
  readonly instances?: readonly string[];
  readonly complete: boolean;
  readonly findings: Readonly<Record<string, readonly Row[]>>;
  readonly carried: Readonly<Record<string, readonly Row[]>>;
}

/**
 * The index as base64 of gzip of JSON, at most MAX_INDEX_LENGTH. Where it would be longer, first the texts of the findings are left out,
 * then the names, then findings.
 */
export function encodeIndex(index: FindingIndex): string {
  let limit = MAX_INDEXED_TOTAL;
  const all = rowsOf(index.findings, limit);
  const carried = rowsOf(index.carried, limit);
  const { tables, instances } = index;
  const names = { ...(tables === undefined ? {} : { tables }), ...(instances === undefined ? {} : { instances }) };
  const complete = index.complete && all.complete;
  let encoded =
    encode({ ...names, complete, findings: all.rows, carried: carried.rows }) ??
    encode({ ...names, complete, findings: withoutTexts(all.rows), carried: {} });
  for (; encoded === undefined && limit > 0; limit = Math.floor(limit / 4)) {
    const { rows } = rowsOf(index.findings, limit);
    encoded = encode({ complete: false, findings: withoutTexts(rows), carried: {} });
  }
  return encoded ?? '';
}

/** @returns undefined if it is too large */
function encode(value: Encoded): string | undefined {
  const json = JSON.stringify(value);
  if (json.length > MAX_JSON_LENGTH) return undefined;
  const encoded = gzipSync(json).toString('base64');
  return encoded.length <= MAX_INDEX_LENGTH ? encoded : undefined;
}

/** @returns undefined if the text is not an index */
export function decodeIndex(text: string): FindingIndex | undefined {
  try {
    const json = gunzipSync(Buffer.from(text, 'base64'), { maxOutputLength: MAX_DECODED_BYTES }).toString();
    const { tables, instances, complete, findings, carried } = JSON.parse(json) as Encoded;
    return { tables, instances, complete, findings: findingsOf(findings), carried: findingsOf(carried) };
  } catch {
    return undefined;
  }
}

/** At most `limit` findings, the same number of each check that has more than its share. */
function rowsOf(findings: FindingIndex['findings'], limit: number): { rows: Record<string, Row[]>; complete: boolean } {
  const rows: Record<string, Row[]> = {};
  let [left, checks, complete] = [limit, findings.size, true];
  for (const [check, all] of [...findings].toSorted(([, a], [, b]) => a.length - b.length)) {
    const kept = all.slice(0, Math.floor(left / checks));
    if (kept.length > 0) rows[check] = kept.map(rowOf);
    if (kept.length < all.length) complete = false;
    left -= kept.length;
    checks -= 1;
  }
  return { rows, complete };
}

function rowOf(finding: Finding): Row {
  const { entityType, entity, since, message, observed, threshold, severity, couldNotRead, cause = '' } = finding;
  const seconds = since === undefined ? 0 : Math.floor(Date.parse(since) / 1000);
  const level = severity === undefined ? -1 : SEVERITIES.indexOf(severity);
  return [
    entityType,
    entity,
    seconds,
    message.slice(0, MAX_MESSAGE),
    observed ?? '',
    threshold ?? '',
    level,
    couldNotRead === true ? 1 : 0,
    cause,
  ];
}

function withoutTexts(rows: Readonly<Record<string, readonly Row[]>>): Record<string, Row[]> {
  const short = ([type, entity, since, , , , level, unread, cause = '']: Row): Row => [
    type,
    entity,
    since,
    '',
    '',
    '',
    level,
    unread,
    cause,
  ];
  return Object.fromEntries(Object.entries(rows).map(([check, all]) => [check, all.map(short)]));
}

function findingsOf(rows: Encoded['findings']): Map<string, Finding[]> {
  return new Map(Object.entries(rows).map(([check, all]) => [check, all.map(findingOf)]));
}

/** Rows of earlier versions have no cause. */
function findingOf([entityType, entity, since, message, observed, threshold, level, unread, cause = '']: Row): Finding {
  const severity = SEVERITIES[level];
  return {
    entityType,
    entity,
    message,
    ...(observed === '' ? {} : { observed }),
    ...(threshold === '' ? {} : { threshold }),
    ...(severity === undefined ? {} : { severity }),
    ...(since === 0 ? {} : { since: new Date(since * 1000).toISOString() }),
    ...(unread === 1 ? { couldNotRead: true } : {}),
    ...(cause === '' ? {} : { cause }),
  };
}
