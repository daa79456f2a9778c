import { createCipheriv, createHash } from 'node:crypto';
import { gunzipSync, gzipSync } from 'node:zlib';
import type { GatewayProcess } from '../../support/gateway-process.ts';
import {
  AnswerStalled,
  ConnectionEnded,
  MalformedAnswer,
  type RawAnswer,
  type RawClient,
  type RawRequest,
} from '../../support/raw-client.ts';
import { type EngineRequest, headerOf, type StubAnswer, type StubResponder } from '../../support/stub-engine.ts';

export const KB = 1024;
export const MB = KB * KB;

/** Sizes near that of buffers (64 KB), and others. */
export const SIZES: readonly number[] = [0, 1, 200, 63 * KB, 64 * KB, 65 * KB, 100 * KB, MB];
export const FRAMINGS = ['length', 'chunks', 'close'] as const;
export type EngineFraming = (typeof FRAMINGS)[number];

/** A response for the engine to send. */
export interface AnswerPlan {
  readonly bytes: number;
  readonly framing: EngineFraming;
}

/** Every size in every framing, in an order that alternates large and small answers. */
export const PLANS: readonly AnswerPlan[] = FRAMINGS.flatMap((framing) =>
  SIZES.map((bytes) => ({ bytes, framing })),
).sort((a, b) => digest(`${a.bytes}${a.framing}`).localeCompare(digest(`${b.bytes}${b.framing}`)));

export const LARGE_PLANS: readonly AnswerPlan[] = [
  { bytes: 50 * MB, framing: 'length' },
  { bytes: 50 * MB, framing: 'chunks' },
];

export function digest(bytes: string | Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex').slice(0, 16);
}

/** Text without repetition, different for every seed, so that bytes of another response are detected. */
export function noise(seed: string, bytes: number): string {
  const key = createHash('sha256').update(seed).digest();
  const cipher = createCipheriv('aes-128-ctr', key.subarray(0, 16), key.subarray(16));
  return cipher
    .update(Buffer.alloc(Math.ceil(bytes * 0.75) + 2))
    .toString('base64url')
    .slice(0, bytes);
}

/** A name for one request, by which the engine recognises it. Also a valid table name. */
const MARKER = /case_[0-9]+_(length|chunks|close)_[0-9]+/;
let counter = 0;

export function nextMarker({ bytes, framing }: AnswerPlan): string {
  counter += 1;
  return `case_${counter}_${framing}_${bytes}`;
}

const HEAD = '{"resultTable":{"dataSchema":{"columnNames":["a"],"columnDataTypes":["STRING"]},"rows":[["';
const TAIL = '"]]},"exceptions":[],"tablesQueried":["orders"],"numServersQueried":1}';

/** The engine's body for a marker, with exactly this number of bytes. */
export function bodyFor(marker: string): Buffer {
  const bytes = Number(marker.slice(marker.lastIndexOf('_') + 1));
  const room = bytes - HEAD.length - TAIL.length;
  if (room < 0) return Buffer.from('1'.repeat(bytes));
  return Buffer.from(HEAD + noise(marker, room) + TAIL);
}

export function markerOf(request: EngineRequest): string | undefined {
  return MARKER.exec(decodeURIComponent(request.target))?.[0] ?? MARKER.exec(request.body.toString())?.[0];
}

/** An engine that responds to each marker with its body in its framing, gzipped if accepted. */
export const answerMarker: StubResponder = (request): StubAnswer => {
  const marker = markerOf(request);
  if (marker === undefined) return { status: 404, body: '{"code":404,"error":"no marker"}' };
  const framing = (marker.split('_')[2] ?? 'length') as EngineFraming;
  const body = bodyFor(marker);
  const type = ['Content-Type', 'application/json'] as const;
  if (!/\bgzip\b/.test(headerOf(request, 'accept-encoding') ?? '')) return { headers: [type], body, framing };
  return { headers: [type, ['Content-Encoding', 'gzip']], body: gzipSync(body, { level: 1 }), framing };
};

/** A route of an engine response through the gateway. */
export interface Way {
  readonly name: string;
  request(marker: string): RawRequest;
}

const sqlOf = (marker: string): string => `SELECT a FROM orders WHERE a = '${marker}'`;
const postSql = (target: string): Way => ({
  name: `POST ${target}`,
  request: (marker) => ({
    target,
    headers: [['Content-Type', 'application/json']],
    body: JSON.stringify({ sql: sqlOf(marker) }),
  }),
});
const get = (name: string, target: (marker: string) => string): Way => ({
  name: `GET ${name}`,
  request: (marker) => ({ target: target(marker) }),
});

/** Every route that forwards a response of the broker or the controller. */
export const WAYS: readonly Way[] = [
  postSql('/query/sql'),
  postSql('/query'),
  postSql('/sql'),
  get('/query/sql', (marker) => `/query/sql?sql=${encodeURIComponent(sqlOf(marker))}`),
  get('/sql', (marker) => `/sql?sql=${encodeURIComponent(sqlOf(marker))}`),
  get('a table’s schema', (marker) => `/tables/${marker}/schema`),
  get('a table’s segments', (marker) => `/segments/${marker}`),
  get('an instance', (marker) => `/instances/${marker}`),
];

/** @returns the differences between the received response and that of the engine */
export function differences(marker: string, answer: RawAnswer): string[] {
  const expected = bodyFor(marker);
  if (answer.status !== 200) return [`${marker}: ${answer.status} ${answer.body.subarray(0, 200).toString()}`];
  const packed = answer.headers.get('content-encoding') === 'gzip';
  let { body } = answer;
  try {
    if (packed) body = gunzipSync(answer.body);
  } catch (error) {
    return [`${marker}: ${String(error)} after ${answer.body.length} bytes`];
  }
  if (body.equals(expected)) return [];
  return [`${marker}: ${body.length} bytes ${digest(body)} instead of ${expected.length} bytes ${digest(expected)}`];
}

/** A failure instead of a response, as a difference. */
export function failure(marker: string, error: unknown): string[] {
  const kinds = [MalformedAnswer, ConnectionEnded, AnswerStalled];
  if (error instanceof Error && kinds.some((kind) => error instanceof kind)) return [`${marker}: ${error.message}`];
  throw error;
}

/** After a response that closes the connection: no bytes, and its end. */
export async function afterEnd(connection: RawClient): Promise<string[]> {
  const rest = await connection.end();
  return rest.length === 0 ? [] : [`${rest.length} bytes after the answer`];
}

/** With the administrator's credential and additional headers. */
export function authorized(
  gateway: GatewayProcess,
  request: RawRequest,
  ...more: readonly (readonly [string, string])[]
): RawRequest {
  return { ...request, headers: [gateway.authorization(), ...(request.headers ?? []), ...more] };
}
