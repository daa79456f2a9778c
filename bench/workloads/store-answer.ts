import type { PropertyValues } from '../../src/platform/setting-schema.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { requestPieces } from '../../src/pinot/pieces.ts';
import type { EngineEndpoint, EngineRequest } from '../../src/pinot/types.ts';
import type { ResultStore } from '../../src/results/result-store.ts';
import { createResultStore } from '../../src/results/stores/result-stores.ts';
import { storeResponse } from '../../src/results/submit/submit.ts';

const START_TIMEOUT_MS = 30_000;
const TIMEOUT_MS = 600_000;
let submissions = 0;

/** @param properties see test/support/result-stores.ts */
export async function openStore(properties: PropertyValues): Promise<ResultStore> {
  const store = await createResultStore(properties, {
    gatewayId: 'bench',
    clock: systemClock,
    onProblem: () => undefined,
  });
  await store.start(AbortSignal.timeout(START_TIMEOUT_MS));
  return store;
}

/** Runs the query, stores its response, deletes it. @returns rows and bytes of the result */
export async function storeOnce(
  endpoint: EngineEndpoint,
  store: ResultStore,
  query: EngineRequest,
): Promise<{ rows: number; bytes: number }> {
  const signal = AbortSignal.timeout(TIMEOUT_MS);
  const response = await requestPieces(endpoint, { ...query, signal });
  const requestId = `00000000-${String(++submissions).padStart(30, '0')}`;
  const origin = { requestId, brokerId: 'bench', owner: 'bench', tables: [], submissionTimeMs: 0, expirationTimeMs: 0 };
  const outcome = await storeResponse(response, store, origin, signal);
  if (outcome.kind !== 'stored') throw new Error('the response was not stored');
  const { rowCount, rowBytes } = outcome.reader.record;
  await outcome.reader.close();
  await store.delete(requestId, signal);
  return { rows: rowCount, bytes: rowBytes };
}
