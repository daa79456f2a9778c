// Stores results in a bucket like a gateway, one step per line of its standard input, until it is killed. Argument: `BucketProgram` as JSON.
import { randomBytes } from 'node:crypto';
import { createInterface } from 'node:readline';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { newRequestId } from '../../../src/results/request-id.ts';
import type { ResultStore } from '../../../src/results/result-store.ts';
import { createResultStore } from '../../../src/results/stores/result-stores.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { answerText, responseOf, submission } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

export interface BucketProgram {
  readonly gatewayId: string;
  readonly properties: PropertyValues;
}

const { gatewayId, properties } = JSON.parse(process.argv[2] ?? '') as BucketProgram;
const say = (line: string): boolean => process.stdout.write(`${line}\n`);

async function store(into: ResultStore, rows: number): Promise<string> {
  const requestId = newRequestId(gatewayId, (bytes) => randomBytes(bytes));
  say(`storing ${requestId}`);
  const text = answerText(Array.from({ length: rows }, (_, i) => `[${i},"${'x'.repeat(2000)}"]`));
  const record = submission({ requestId, expirationTimeMs: Date.now() + 3_600_000 });
  const outcome = await storeResponse(responseOf(text), into, record, AbortSignal.timeout(WAIT_LIMIT_MS));
  if (outcome.kind === 'stored') await outcome.reader.close();
  say(`stored ${requestId}`);
  return requestId;
}

const results = await createResultStore(properties, {
  gatewayId,
  clock: systemClock,
  onProblem: (message) => process.stderr.write(`${message}\n`),
});
say('loaded');
for await (const line of createInterface({ input: process.stdin })) {
  if (line === 'start') await results.start(AbortSignal.timeout(WAIT_LIMIT_MS));
  if (line === 'work') {
    // One result with several parts of an upload, and one smaller than a part.
    await store(results, 4500);
    const small = await store(results, 3);
    await results.delete(small, AbortSignal.timeout(WAIT_LIMIT_MS));
    say(`deleted ${small}`);
  }
  say(`did ${line}`);
}
