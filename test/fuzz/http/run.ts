import { GatewayProcess } from '../../support/gateway-process.ts';
import { MalformedAnswer, type RawAnswer, RawClient } from '../../support/raw-client.ts';
import { fuzzCase, type FuzzCase } from './cases.ts';
import { fuzzEngine } from './engine.ts';
import { judge, type JudgeContext, type Outcome } from './judge.ts';
import { engineBody, markerOf } from './markers.ts';
import type { FuzzContext } from './requests.ts';

export interface FuzzOptions {
  readonly seed: number;
  /** The first case. */
  readonly from: number;
  readonly count: number;
  /** After each batch. @param done cases so far */
  readonly onBatch?: (done: number) => void;
}

export interface FuzzReport {
  readonly cases: number;
  /** How many answers had each status. */
  readonly statuses: ReadonlyMap<number, number>;
  /** Each with the number and the kind of its case. */
  readonly violations: readonly string[];
}

const BATCH = 250;
const AT_ONCE = 16;
/** Limit for a mutated request after which the gateway waits for more bytes. A shorter time ends other cases early, but fails none. */
const IDLE_MS = 500;
const MAX_VIOLATIONS = 200;

/**
 * Sends raw requests to a gateway process with an engine that responds to everything, and checks the responses. The cases depend only on the seed
 * and their numbers.
 */
export async function fuzzHttp(options: FuzzOptions): Promise<FuzzReport> {
  const { engine, takeWrongs } = fuzzEngine();
  await engine.listen();
  const gateway = await GatewayProcess.start({ controllers: engine.url });
  const statuses = new Map<number, number>();
  const violations: string[] = [];
  let ended = false;
  void gateway.program.ended.then(() => {
    ended = true;
  });
  try {
    const { fuzz, page } = await prepare(gateway);
    const cases = Array.from({ length: options.count }, (_, i) => fuzzCase(options.seed, options.from + i, fuzz));
    const context: JudgeContext = { page, ids: new Set(cases.map(({ id }) => id)) };
    for (let at = 0; at < cases.length && violations.length < MAX_VIOLATIONS; at += BATCH) {
      const batch = cases.slice(at, at + BATCH);
      await eachOf(batch, async (one) => {
        if (ended) return;
        const outcome = await play(gateway.port, one);
        for (const { status } of outcome.answers) statuses.set(status, (statuses.get(status) ?? 0) + 1);
        violations.push(...judge(one, outcome, context).map((text) => `case ${one.number} (${one.kind}): ${text}`));
      });
      const numbers = `cases ${batch[0]?.number} to ${batch.at(-1)?.number}`;
      violations.push(...takeWrongs().map((text) => `${numbers}: ${text}`));
      violations.push(...(await plainQuery(gateway, fuzz)).map((text) => `after ${numbers}: ${text}`));
      if (ended) throw new Error(`the gateway ended within ${numbers}:\n${gateway.program.output.slice(-4_000)}`);
      options.onBatch?.(at + batch.length);
    }
    return { cases: cases.length, statuses, violations };
  } finally {
    await gateway.stop();
    await engine.close();
  }
}

/** The marker of requests outside of cases. */
const PLAIN = markerOf('000000000000', 0);
const RESOURCES = ['srn2:table#orders', 'srn2:table#fz*'];

/** A token for the fuzzer, and a stored result whose page it reads. */
async function prepare(gateway: GatewayProcess): Promise<{ fuzz: FuzzContext; page: string }> {
  const { bearerToken } = await gateway.tokenFor('fuzzer', [
    { effect: 'allow', actions: ['Query', 'GetSchema'], resources: RESOURCES },
  ]);
  const authorization = `Bearer ${bearerToken}`;
  const submitted = await gateway.once({
    target: '/query/sql?doPaginate=true&numRows=2',
    headers: [
      ['Authorization', authorization],
      ['Content-Type', 'application/json'],
    ],
    body: JSON.stringify({ sql: `SELECT a FROM orders WHERE a = '${PLAIN}'` }),
  });
  if (submitted.status !== 200) throw new Error(`submission: ${submitted.status}`);
  const { requestId } = JSON.parse(submitted.body.toString()) as { requestId: string };
  const pageTarget = `/query/${requestId}/results?offset=0&numRows=2`;
  const page = await gateway.once({ target: pageTarget, headers: [['Authorization', authorization]] });
  return { fuzz: { authorization, pageTarget }, page: page.body.toString() };
}

/** Runs several at a time. */
async function eachOf<T>(items: readonly T[], run: (item: T) => Promise<void>): Promise<void> {
  const rest = items.values();
  const worker = async () => {
    for (const item of rest) await run(item);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

/** Sends a case, and reads all answers until the gateway closes the connection. */
async function play(port: number, fuzz: FuzzCase): Promise<Outcome> {
  const answers: RawAnswer[] = [];
  let client: RawClient;
  try {
    client = await RawClient.open(port);
  } catch (failure) {
    return { answers, failure };
  }
  try {
    const places = [0, ...fuzz.cuts, fuzz.bytes.length];
    for (let i = 1; i < places.length && !client.ended; i++) {
      client.send(fuzz.bytes.subarray(places[i - 1], places[i]));
      // A separate write for each piece.
      await new Promise(setImmediate);
    }
    if (fuzz.ending === 'early close') return { answers, failure: undefined };
    if (fuzz.ending === 'early reset') {
      client.reset();
      return { answers, failure: undefined };
    }
    const next = async (): Promise<RawAnswer> => {
      const isHead = answers.length === fuzz.head;
      const answer = await client.answer(isHead ? 'HEAD' : 'GET');
      // The method of a request that cannot be parsed is not known: its error has a body, and ends the connection.
      if (isHead && answer.status >= 400 && answer.headers.get('connection') === 'close') {
        const body = await client.end();
        if (body.length > 0 && String(body.length) !== answer.headers.get('content-length')) {
          throw new MalformedAnswer(`${body.length} bytes after the head of an error for HEAD`);
        }
      }
      return answer;
    };
    // An HTTP server may drop responses when a client ends its side, so this is the last step.
    const wanted = fuzz.expected?.length ?? Number.POSITIVE_INFINITY;
    while (
      fuzz.ending === 'half-close' &&
      answers.length < wanted &&
      (await client.hasMore(fuzz.expected === undefined ? IDLE_MS : undefined))
    ) {
      answers.push(await next());
    }
    client.halfClose();
    while (await client.hasMore()) answers.push(await next());
    return { answers, failure: undefined };
  } catch (failure) {
    return { answers, failure };
  } finally {
    client.destroy();
  }
}

/** Checks that the gateway still works: a plain query succeeds. */
async function plainQuery(gateway: GatewayProcess, { authorization }: FuzzContext): Promise<string[]> {
  const deadline = Date.now() + 30_000;
  for (;;) {
    const answer = await gateway
      .once({
        target: `/query/sql?sql=${encodeURIComponent(`SELECT a FROM orders WHERE a = '${PLAIN}'`)}`,
        headers: [['Authorization', authorization]],
      })
      .catch((error: unknown) => String(error));
    if (typeof answer === 'string')
      return [`a plain query got no response: ${answer}\n${gateway.program.output.slice(-2_000)}`];
    if (answer.status === 503 && Date.now() < deadline) continue;
    return answer.body.toString() === engineBody(PLAIN)
      ? []
      : [`a plain query: ${answer.status} ${answer.body.subarray(0, 300).toString()}`];
  }
}
