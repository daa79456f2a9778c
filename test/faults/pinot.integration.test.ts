import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { setTimeout as delay } from 'node:timers/promises';
import { GatewayProcess } from '../support/gateway-process.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { type Pinot, startPinot } from '../support/pinot.ts';
import { FAULT_MS, Figures } from './support/figures.ts';
import { Client, longest, type Outcome, send, statuses } from './support/load.ts';

// A gateway in front of a real Pinot that is frozen in the middle of its responses, or loses a server or a broker, while clients query and submit.

const ROW_COUNT = 20_000;
const SQL = { sql: `SELECT customerId, name FROM customers LIMIT ${ROW_COUNT}` };
const ALLOWED: ReadonlySet<number | 'closed'> = new Set([200, 500, 502, 503, 504]);

const figures = new Figures('pinot');
let pinot: Pinot;
let gateway: GatewayProcess;

beforeAll(async () => {
  pinot = await startPinot({ brokers: 2, servers: 2, tables: ['customers'] });
  await pinot.awaitRows('customers', ROW_COUNT);
  gateway = await GatewayProcess.start({
    controllers: pinot.controllerUrl,
    properties: ['olap.broker.pagination.protocol=memory'],
  });
});
afterAll(async () => {
  await gateway?.stop();
  await pinot?.stop();
  await figures.write();
});

function call(method: string, path: string, body?: unknown): Promise<Outcome> {
  const headers = { authorization: `Bearer ${gateway.token}`, 'content-type': 'application/json' };
  return send(gateway.url + path, { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) });
}

interface Answer {
  readonly requestId?: string;
  readonly exceptions?: readonly unknown[];
  readonly resultTable?: { readonly rows: readonly unknown[] };
  readonly numRowsResultSet?: number;
}

/** A 200 is complete, or Pinot says in it what is missing. @returns whether it is complete */
function isComplete({ status, text }: Outcome, rows: number): boolean {
  if (status === 'closed') return false;
  const { exceptions = [], resultTable } = JSON.parse(text) as Answer;
  if (status !== 200) return false;
  if (exceptions.length === 0) expect(resultTable?.rows.length).toBe(rows);
  return exceptions.length === 0;
}

/** Clients query and submit for the time of a fault, until complete responses come again. */
async function observe(name: string, begin: () => unknown, end: () => unknown): Promise<void> {
  const incomplete = { count: 0 };
  const lastComplete = { queries: 0, submissions: 0 };
  const stored: string[] = [];
  const queries = new Client(async () => {
    const begun = performance.now();
    const outcome = await call('POST', '/query/sql', SQL);
    if (isComplete(outcome, ROW_COUNT)) lastComplete.queries = begun;
    else if (outcome.status === 200) incomplete.count++;
    return outcome;
  });
  const submissions = new Client(async () => {
    const begun = performance.now();
    const outcome = await call('POST', '/query/sql?doPaginate=true&numRows=10', SQL);
    if (isComplete(outcome, 10)) {
      lastComplete.submissions = begun;
      const { requestId } = JSON.parse(outcome.text) as Answer;
      if (requestId !== undefined) stored.push(requestId);
    }
    return outcome;
  }, 100);
  await delay(500);
  await begin();
  await delay(FAULT_MS);
  await end();
  const endedAt = performance.now();
  const isWell = (): boolean => lastComplete.queries >= endedAt && lastComplete.submissions >= endedAt;
  await expect.poll(isWell, { timeout: WAIT_LIMIT_MS, interval: 20 }).toBe(true);
  const recoveredMs = performance.now() - endedAt;
  const [queried, submitted] = [await queries.stop(), await submissions.stop()];
  // Each acknowledged result is served completely.
  for (const id of stored.slice(-20)) {
    const page = await call('GET', `/query/${id}/results?offset=0&numRows=${ROW_COUNT}`);
    expect(isComplete(page, ROW_COUNT), page.text.slice(0, 200)).toBe(true);
  }
  const withExceptions = incomplete.count === 0 ? '' : ` (${incomplete.count} with exceptions of Pinot)`;
  const seen = `queries ${statuses(queried)}${withExceptions}; submissions ${statuses(submitted)}`;
  figures.add({ fault: name, seen, longest: longest([...queried, ...submitted]), recoveredMs });
  const others = [...queried, ...submitted].filter(({ status }) => !ALLOWED.has(status));
  expect(others.map(({ status, text }) => `${status} ${text.slice(0, 300)}`)).toEqual([]);
}

describe('a gateway serves only complete results while', () => {
  it('Pinot is frozen', () =>
    observe(
      'Pinot is frozen',
      () => pinot.pause(),
      () => pinot.resume(),
    ));

  it('a server of Pinot is stopped', () =>
    observe(
      'a server of Pinot is stopped and started again',
      () => pinot.stopServer(1),
      () => pinot.startServer(1),
    ));

  it('a broker of Pinot is stopped', () =>
    observe(
      'a broker of Pinot is stopped and started again',
      () => pinot.stopBroker(1),
      () => pinot.startBroker(1),
    ));
});
