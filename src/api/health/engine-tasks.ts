import { text } from 'node:stream/consumers';
import type { Engine } from '../../pinot/types.ts';

const TIMEOUT_MS = 10_000;

/** Names of the controller's periodic tasks; undefined where the controller does not return a list. @throws {EngineError} */
export async function engineTaskNames(engine: Engine, signal: AbortSignal): Promise<readonly string[] | undefined> {
  const response = await requestController(engine, '/periodictask/names', signal);
  if (response.status !== 200) return undefined;
  const names: unknown = JSON.parse(response.body);
  return Array.isArray(names) ? names.filter((name) => typeof name === 'string') : undefined;
}

/** Runs a periodic task of the engine. @throws {EngineError} */
export function runEngineTask(
  engine: Engine,
  parameters: { taskName: string; tableName?: string | undefined; type?: string | undefined },
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const query = new URLSearchParams({ taskname: parameters.taskName });
  if (parameters.tableName !== undefined) query.set('tableName', parameters.tableName);
  if (parameters.type !== undefined) query.set('type', parameters.type);
  return requestController(engine, `/periodictask/run?${query.toString()}`, signal);
}

async function requestController(
  engine: Engine,
  path: string,
  signal: AbortSignal,
): Promise<{ status: number; body: string }> {
  const response = await engine.controller.request({
    method: 'GET',
    path,
    headersTimeoutMs: TIMEOUT_MS,
    bodyTimeoutMs: TIMEOUT_MS,
    signal: AbortSignal.any([signal, AbortSignal.timeout(TIMEOUT_MS)]),
  });
  return { status: response.status, body: await text(response.body) };
}
