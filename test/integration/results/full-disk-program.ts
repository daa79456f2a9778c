// Fills the disk of a file store, and prints what happens as JSON. Argument: an empty folder on a disk of a few MB.
import { randomBytes } from 'node:crypto';
import { readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { systemClock } from '../../../src/platform/clock.ts';
import { QueryError } from '../../../src/results/errors.ts';
import { holderTag, newRequestId } from '../../../src/results/request-id.ts';
import { FileStore } from '../../../src/results/stores/file/file-store.ts';
import type { ResultStore } from '../../../src/results/result-store.ts';
import { storeResponse } from '../../../src/results/submit/submit.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../../unit/results/answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const folder = process.argv[2] ?? '';
const filler = join(folder, 'filler');
const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
const store: ResultStore = new FileStore({
  dataDir: join(folder, 'data'),
  tempDir: join(folder, 'temp'),
  tag: holderTag('gateway'),
  clock: systemClock,
  onProblem: (message) => process.stderr.write(`${message}\n`),
});
await store.start(signal);

const newId = (): string => newRequestId('gateway', (bytes) => randomBytes(bytes));
const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => 'stored',
    (error: unknown) => (error instanceof QueryError ? error.code : String(error)),
  );
const files = (): string[] => ['data', 'temp'].flatMap((name) => readdirSync(join(folder, name))).sort();
const submit = async (rows: number): Promise<string> => {
  const requestId = newId();
  const outcome = await storeResponse(responseOf(answerText(rowTexts(rows))), store, submission({ requestId }), signal);
  if (outcome.kind === 'stored') await outcome.reader.close();
  return requestId;
};
/** Leaves no byte of the disk. */
const fill = (): void => {
  for (let size = 1 << 20; size >= 1; size = Math.floor(size / 2)) {
    try {
      for (;;) writeFileSync(filler, Buffer.alloc(size), { flag: 'a' });
    } catch {
      // A smaller piece may still fit.
    }
  }
};

const kept = await submit(100);
const before = files();
const large = await codeOf(submit(400_000));
const afterLarge = files();
fill();
const small = await codeOf(submit(10));
const note = await codeOf(store.notes.put(newId(), 'run', '{}', signal));
const reader = await store.open(kept, signal);
const renewal = await codeOf(store.renew({ ...reader!.record, expirationTimeMs: 99_000 }, signal));
const afterFull = files();
const rows = await collect(await reader!.read(0, reader!.record.rowBytes, signal));
await reader!.close();
rmSync(filler);
const again = await codeOf(submit(10));
process.stdout.write(
  JSON.stringify({
    large,
    small,
    note,
    renewal,
    again,
    leftovers: [afterLarge, afterFull].map((names) => names.filter((name) => !before.includes(name))),
    isKept: rows === rowTexts(100).join(','),
  }),
);
