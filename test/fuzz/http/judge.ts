import { AnswerStalled, ConnectionEnded, MalformedAnswer, type RawAnswer } from '../../support/raw-client.ts';
import type { FuzzCase } from './cases.ts';
import { engineBody, markersIn } from './markers.ts';

/** The responses on the connection of a case. */
export interface Outcome {
  readonly answers: readonly RawAnswer[];
  /** Why there are no more: undefined if the gateway closed the connection after a complete response. */
  readonly failure: unknown;
}

export interface JudgeContext {
  /** The ids of all cases. */
  readonly ids: ReadonlySet<string>;
  /** The body of the stored page. */
  readonly page: string;
}

const ERROR_FIELDS = ['error', 'message', 'path', 'status', 'timestamp'];
/** Errors of the query paths also contain the counts of servers, which pinotdb reads first. */
const QUERY_ERROR_FIELDS = [...ERROR_FIELDS, 'numServersQueried', 'numServersResponded'].sort();
const QUERY_PATHS: ReadonlySet<unknown> = new Set(['/query/sql', '/query', '/sql']);
/** Statuses that protect the gateway itself. */
const OVERLOADED = 503;

/** @returns the violated invariants */
export function judge(fuzz: FuzzCase, outcome: Outcome, context: JudgeContext): string[] {
  const wrong = outcome.answers.flatMap((answer) => answerWrongs(fuzz, answer, context));
  wrong.push(...failureWrongs(fuzz, outcome));
  if (fuzz.expected !== undefined && wrong.length === 0) wrong.push(...expectedWrongs(fuzz.expected, outcome, context));
  return wrong;
}

/** An incomplete response is an error, unless the client has disconnected first. */
function failureWrongs({ ending }: FuzzCase, { failure }: Outcome): string[] {
  if (failure === undefined) return [];
  if (failure instanceof MalformedAnswer) return [`malformed response: ${failure.message}`];
  if (failure instanceof AnswerStalled) return [failure.message];
  if (failure instanceof ConnectionEnded) {
    return failure.received === 0 || ending !== 'half-close'
      ? []
      : [`a response ended unexpectedly: ${failure.message}`];
  }
  return [`no connection: ${failure instanceof Error ? failure.message : 'unknown'}`];
}

function answerWrongs({ id }: FuzzCase, answer: RawAnswer, { ids, page }: JudgeContext): string[] {
  const text = answer.body.toString();
  const wrong: string[] = [];
  for (const marker of markersIn(`${text} ${[...answer.headers.values()].join(' ')}`)) {
    const other = marker.slice(2, 14);
    if (other !== id && ids.has(other)) wrong.push(`a response of another caller: ${marker}`);
  }
  if (answer.status === 500 || answer.status === 101) wrong.push(`${answer.status} ${text.slice(0, 200)}`);
  if (answer.interim.some((status) => status !== 100)) wrong.push(`interim responses ${answer.interim.join(', ')}`);
  if (answer.framing === 'none') return wrong;
  return [...wrong, ...(answer.status >= 400 ? errorWrongs(answer, text) : successWrongs(text, page))];
}

/** The error body of the specification. */
function errorWrongs({ status }: RawAnswer, text: string): string[] {
  try {
    const { code, ...body } = JSON.parse(text) as Record<string, unknown>;
    // At paths of the controller, in the form that Pinot's tools read.
    const isOfController = code === status && body['error'] === body['message'];
    const fields = Object.keys(body).sort();
    if (code !== undefined && !isOfController) fields.push('code');
    const expected = QUERY_PATHS.has(body['path']) ? QUERY_ERROR_FIELDS : ERROR_FIELDS;
    if (fields.join() === expected.join() && body['status'] === status && body['message'] !== '') return [];
    return [`${status} with another body: ${text.slice(0, 200)}`];
  } catch {
    return [`${status} without an error body: ${JSON.stringify(text.slice(0, 200))}`];
  }
}

/** The complete response of the engine, if it is one of the engine. */
function successWrongs(text: string, page: string): string[] {
  const [marker] = markersIn(text);
  if (marker === undefined || text === page || text === engineBody(marker)) return [];
  return [`not the whole answer to ${marker}: ${text.length} bytes instead of ${engineBody(marker).length}`];
}

function expectedWrongs(
  expected: readonly (string | undefined)[],
  { answers }: Outcome,
  { page }: JudgeContext,
): string[] {
  if (answers.length !== expected.length) {
    const got = answers.map(({ status, body }) => `${status} ${body.subarray(0, 300).toString()}`);
    return [`${answers.length} answers to ${expected.length} requests: ${got.join(' | ')}`];
  }
  return answers.flatMap(({ status, body }, at) => {
    const marker = expected[at];
    if (status === OVERLOADED) return [];
    if (body.toString() === (marker === undefined ? page : engineBody(marker))) return [];
    return [`request ${at} (${marker ?? 'page'}): ${status} ${body.subarray(0, 400).toString()}`];
  });
}
