import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { GatewayProcess } from '../../test/support/gateway-process.ts';
import type { Target } from './load.ts';

/** Responses to the single caller of a load, which stands for many. */
const MAX_ANSWER_BYTES = 128 * 1024 * 1024;
const SUBMIT_LIMIT_MS = 300_000;

/** An engine in a separate process. */
export interface RowsEngine {
  readonly url: string;
  stop(): void;
}

export async function startRowsEngine(): Promise<RowsEngine> {
  const program = join(import.meta.dirname, 'rows-engine.ts');
  const child = spawn(process.execPath, [program], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [port] = (await once(createInterface(child.stdout), 'line')) as [string];
  return { url: `http://127.0.0.1:${port}`, stop: () => child.stdin.end() };
}

/**
 * The whole product as a separate process with a file store, without limits of requests: one token stands for all clients.
 * @param folder of the store
 */
export function startGateway(controllers: string, folder: string, tokensOf?: GatewayProcess): Promise<GatewayProcess> {
  return GatewayProcess.start({
    controllers,
    flags: { 'max-answer-bytes-per-caller': MAX_ANSWER_BYTES },
    properties: [
      'olap.broker.pagination.protocol=file',
      `olap.broker.pagination.file.data.dir=${join(folder, 'data')}`,
    ],
    ...(tokensOf && { tokensOf }),
  });
}

const headersOf = (token: string): Record<string, string> => ({
  authorization: `Bearer ${token}`,
  'content-type': 'application/json',
});

export function queryTarget(url: string, token: string, rows: number): Target {
  const body = JSON.stringify({ sql: `SELECT * FROM orders LIMIT ${rows}` });
  return { url: `${url}/query/sql`, method: 'POST', headers: headersOf(token), body };
}

/** Pages at different places of a stored result of `rows`. */
export function pageTargets(gateway: GatewayProcess, requestId: string, rows: number, numRows: number): Target[] {
  const count = 200;
  return Array.from({ length: count }, (_, index) => ({
    url: `${gateway.url}/query/${requestId}/results?offset=${Math.floor((index * (rows - numRows)) / count)}&numRows=${numRows}`,
    method: 'GET',
    headers: headersOf(gateway.token),
    body: '',
  }));
}

/** Stores a result of that many rows. @returns its id */
export async function submit(gateway: GatewayProcess, rows: number): Promise<string> {
  const response = await fetch(`${gateway.url}/query/sql?doPaginate=true&numRows=1`, {
    method: 'POST',
    headers: headersOf(gateway.token),
    body: JSON.stringify({ sql: `SELECT * FROM orders LIMIT ${rows}` }),
    signal: AbortSignal.timeout(SUBMIT_LIMIT_MS),
  });
  const answer = (await response.json()) as { requestId?: string; numRows?: number };
  if (response.status !== 200 || answer.requestId === undefined) {
    throw new Error(
      `the submission of ${rows} rows returned ${response.status}: ${JSON.stringify(answer).slice(0, 300)}`,
    );
  }
  return answer.requestId;
}

/** The value of a metric without labels. */
export async function metricOf(gateway: GatewayProcess, name: string): Promise<number> {
  const response = await fetch(`http://127.0.0.1:${gateway.metricsPort}/metrics`, {
    signal: AbortSignal.timeout(60_000),
  });
  const value = new RegExp(`^${name} (\\S+)$`, 'm').exec(await response.text())?.[1];
  if (value === undefined) throw new Error(`no metric \`${name}\``);
  return Number(value);
}

/** Of the timer with which Node measures the event loop. */
const MEASURED_EACH_MS = 10;

/** 99th percentile of the event-loop delay since the last call, in milliseconds: how late a timer fires. Node's histogram has the time between two timers. */
export async function eventLoopDelayMs(gateway: GatewayProcess): Promise<number> {
  const betweenMs = (await metricOf(gateway, 'nodejs_eventloop_lag_p99_seconds')) * 1000;
  return Math.max(0, betweenMs - MEASURED_EACH_MS);
}
