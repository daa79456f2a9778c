// @module-tag slow
import { createCipheriv } from 'node:crypto';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../../src/platform/clock.ts';
import { authorizerBy, TEST_HEADERS } from '../../../support/app.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';
import { memoryProperties } from '../../../support/result-stores.ts';
import { answerText, responseOf, StubEndpoint } from '../../results/answers.ts';
import { engineOf, startGateways, stopGateways, type TestGateway } from './gateways.ts';

/** More than the buffers of a connection hold, so that the gateway waits for the client. */
const ROWS = Array.from({ length: 30 }, (_, i) => `[${i},"${noise(i).toString('base64')}"]`);

/** Bytes that no format makes smaller. */
function noise(seed: number): Buffer {
  return createCipheriv('aes-128-ctr', Buffer.alloc(16), Buffer.alloc(16, seed)).update(Buffer.alloc(750_000));
}

describe('a download whose caller loses its rights', () => {
  let gateways: TestGateway[];
  let passedMs = 0;
  let isAllowed = true;
  let isActive = true;
  let results: string;

  beforeEach(() => {
    [isAllowed, isActive] = [true, true];
  });
  beforeAll(async () => {
    const endpoint = new StubEndpoint();
    endpoint.answer = () => responseOf(answerText(ROWS));
    gateways = await startGateways(1, {
      engine: engineOf(endpoint),
      store: memoryProperties,
      authorizer: { ...authorizerBy(() => isAllowed), isActive: () => isActive },
      parts: { clock: { ...systemClock, monotonic: () => systemClock.monotonic() + passedMs } },
    });
    const body = JSON.stringify({ sql: 'SELECT * FROM orders' });
    const submitted = await call('/query/sql?doPaginate=true&numRows=1', { method: 'POST', body });
    results = `/query/${((await submitted.json()) as { requestId: string }).requestId}/results`;
  });
  afterAll(() => stopGateways(gateways));

  const call = (
    path: string,
    init: Omit<RequestInit, 'headers'> & { headers?: Record<string, string> } = {},
  ): Promise<Response> =>
    fetch(`${gateways[0]!.url}${path}`, {
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
      ...init,
      headers: { ...TEST_HEADERS, 'accept-encoding': 'identity', 'content-type': 'application/json', ...init.headers },
    });

  /** Begins a download, calls `change` after its first bytes, and reads on. @returns whether it was complete */
  async function isComplete(
    format: string,
    change: () => void,
    headers: Record<string, string> = {},
  ): Promise<boolean> {
    const answer = await call(`${results}?format=${format}`, { headers });
    expect(answer.ok).toBe(true);
    const bytes = answer.body!.getReader();
    await bytes.read();
    change();
    try {
      while (!(await bytes.read()).done);
      return true;
    } catch {
      return false;
    }
  }

  const FORMATS = ['jsonl', 'csv', 'arrow', 'parquet'];

  it.each(FORMATS)('ends within 5 seconds where a right is revoked (%s)', async (format) => {
    const revoke = (): void => void ([isAllowed, passedMs] = [false, passedMs + 5_000]);
    expect(await isComplete(format, revoke)).toBe(false);
  });

  it.each(FORMATS)('ends within 5 seconds where its service token is deleted (%s)', async (format) => {
    const remove = (): void => void ([isActive, passedMs] = [false, passedMs + 5_000]);
    expect(await isComplete(format, remove)).toBe(false);
  });

  it('ends where only a part was requested', async () => {
    const revoke = (): void => void ([isAllowed, passedMs] = [false, passedMs + 5_000]);
    expect(await isComplete('csv', revoke, { range: 'bytes=10-' })).toBe(false);
  });

  it.each(FORMATS)('is complete where it keeps them (%s)', async (format) => {
    expect(await isComplete(format, () => void (passedMs += 60_000))).toBe(true);
  });
});
