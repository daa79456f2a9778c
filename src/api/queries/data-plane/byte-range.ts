import type { IncomingHttpHeaders } from 'node:http';

/** Bytes `from` to `to` (exclusive). */
export interface ByteRange {
  readonly from: number;
  readonly to: number;
}

/** Numbers of any length are ranges: those beyond the end are cut, or not satisfiable. */
const RANGE = /^bytes=\s*(\d*)-(\d*)\s*$/i;
const NOTHING = /^bytes=\s*-\s*$/i;

/** Whether `byteRange` may return a part. */
export function asksForPart({ range, 'if-range': ifRange }: IncomingHttpHeaders, etag: string): boolean {
  const isRange = RANGE.test(range ?? '') && !NOTHING.test(range ?? '');
  return isRange && (ifRange === undefined || ifRange === etag);
}

/**
 * The requested part of a response (RFC 9110 section 14). Several ranges, other units, invalid ranges, and an `If-Range` that does not match are
 * ignored, as the RFC allows: the whole response is sent then.
 * @returns undefined for the whole response
 */
export function byteRange(
  headers: IncomingHttpHeaders,
  { length, etag }: { readonly length: number; readonly etag: string },
): ByteRange | 'unsatisfiable' | undefined {
  if (!asksForPart(headers, etag)) return undefined;
  const [, first = '', last = ''] = RANGE.exec(headers.range ?? '') ?? [];
  if (first === '') return satisfiable({ from: length - Math.min(Number(last), length), to: length }, length);
  const from = Number(first);
  const to = last === '' ? length : Math.min(length, Number(last) + 1);
  return last !== '' && Number(last) < from ? undefined : satisfiable({ from, to }, length);
}

function satisfiable(range: ByteRange, length: number): ByteRange | 'unsatisfiable' {
  return range.from >= length ? 'unsatisfiable' : range;
}
