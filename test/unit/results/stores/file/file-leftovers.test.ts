import { mkdir, mkdtemp, readdir, rm, utimes, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { holderTag, newRequestId } from '../../../../../src/results/request-id.ts';
import { FileLeftovers, type Folders } from '../../../../../src/results/stores/file/file-leftovers.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const OWN = 'gateway-0';
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;

let folder: string;
let folders: Folders;
let clock: FakeClock;
let problems: string[];
let leftovers: FileLeftovers;
let seed = 0;

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-leftovers-'));
  folders = { data: join(folder, 'data'), incoming: [join(folder, 'temp')] };
  for (const name of ['data', 'temp']) await mkdir(join(folder, name));
  clock = new FakeClock();
  problems = [];
  const onProblem = (message: string): void => void problems.push(message);
  leftovers = new FileLeftovers({ dataDir: folders.data, tag: holderTag(OWN), clock, onProblem });
});
afterEach(() => rm(folder, { recursive: true }));

const newId = (gateway = OWN): string => newRequestId(gateway, (bytes) => Buffer.alloc(bytes, `-${++seed}`));

/** Creates a file of this age. */
async function lay(name: string, ageMs: number, of: 'data' | 'temp' = 'data'): Promise<string> {
  const path = join(folder, of, name);
  await writeFile(path, '[1]');
  const at = new Date(clock.now() - ageMs);
  await utimes(path, at, at);
  return name;
}

const files = async (of: 'data' | 'temp'): Promise<string[]> => (await readdir(join(folder, of))).sort();

it('a temporary file of this gateway for other data stays until it is more than a day old', async () => {
  const name = await lay(`${newId()}.rows.00000000.part`, DAY_MS, 'temp');
  await leftovers.remove(folders);
  expect(await files('temp')).toEqual([name]);
  clock.jump(1);
  await leftovers.remove(folders);
  expect(await files('temp')).toEqual([]);
});

it('leftovers are searched for an hour after the search before, at the start or later', async () => {
  clock.jump(5 * HOUR_MS);
  await leftovers.remove(folders);
  const rows = await lay(`${newId()}.rows`, 0);
  clock.jump(HOUR_MS - 1);
  expect(await leftovers.removeHourly(folders)).toBe(false);
  expect(await files('data')).toEqual([rows]);
  clock.jump(1);
  expect(await leftovers.removeHourly(folders)).toBe(true);
  expect(await files('data')).toEqual([]);
  expect(await leftovers.removeHourly(folders)).toBe(false);
});

it('a folder that cannot be read is reported, and is tried again an hour later', async () => {
  await rm(join(folder, 'temp'), { recursive: true });
  expect(await leftovers.removeHourly(folders)).toBe(true);
  expect(problems).toEqual(['failed to remove files of incomplete results (ENOENT); retrying']);
  await expect(leftovers.remove(folders)).rejects.toMatchObject({ code: 'ENOENT' });
});
