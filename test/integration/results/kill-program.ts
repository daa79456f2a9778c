// Stores results and deletes every second one until it is killed. Prints `stored` after each. Argument: the folder.
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { systemClock } from '../../../src/platform/clock.ts';
import { holderTag, newRequestId } from '../../../src/results/request-id.ts';
import { FileStore } from '../../../src/results/stores/file/file-store.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { answerText, responseOf, rowTexts, submission } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const folder = process.argv[2] ?? '';
const store = new FileStore({
  dataDir: join(folder, 'data'),
  tempDir: join(folder, 'temp'),
  tag: holderTag('gateway'),
  clock: systemClock,
  onProblem: (message) => process.stderr.write(`${message}\n`),
});
await store.start();
const text = answerText(rowTexts(20_000));
for (let round = 0; ; round++) {
  const requestId = newRequestId('gateway', (bytes) => randomBytes(bytes));
  const outcome = await storeResponse(
    responseOf(text),
    store,
    submission({ requestId }),
    AbortSignal.timeout(WAIT_LIMIT_MS),
  );
  if (outcome.kind === 'stored') await outcome.reader.close();
  process.stdout.write('stored\n');
  if (round % 2 === 1) await store.delete(requestId);
}
