import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import {
  deriveSessionKey,
  parseSessionKeys,
  sessionKeysFromFile,
} from '../../../../../src/api/server/authentication/session-keys.ts';
import { FakeClock } from '../../../../support/fake-clock.ts';

const OLD = 'o'.repeat(32);
const NEW = 'n'.repeat(43);

describe('the content of a file with session keys', () => {
  it('is a key for each line', () => {
    expect(parseSessionKeys(`${NEW}\n\n  ${OLD}\r\n`)).toEqual([deriveSessionKey(NEW), deriveSessionKey(OLD)]);
    expect(deriveSessionKey(NEW).secret).toHaveLength(32);
    expect(deriveSessionKey(NEW).id).not.toBe(deriveSessionKey(OLD).id);
  });

  it.each([
    ['nothing', '\n', 'it is empty'],
    ['a short line', `${OLD}\nguessable`, 'line 2 has fewer than 32 characters'],
    ['too many lines', `${OLD}\n`.repeat(17), 'more than 16 keys'],
  ])('is rejected with %s, without its content in the message', (_what, content, message) => {
    expect(() => parseSessionKeys(content)).toThrow(message);
    expect(() => parseSessionKeys(content)).not.toThrow(/guessable|ooo/u);
  });
});

describe('session keys in a file', () => {
  let folder: string;
  let path: string;
  let clock: FakeClock;
  let problems: string[];
  const keys = () => sessionKeysFromFile({ path, clock, onProblem: (problem) => problems.push(problem) });

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-keys-'));
    path = join(folder, 'keys');
    clock = new FakeClock();
    problems = [];
  });
  afterEach(() => rm(folder, { recursive: true }));

  it('are shared by the gateways that read it: the first one seals, all are accepted', async () => {
    await writeFile(path, `${NEW}\n${OLD}\n`);
    const [one, other] = [keys(), keys()];
    const key = await one.sealing();
    expect(key).toEqual(deriveSessionKey(NEW));
    expect(await other.find(key.id)).toEqual(key);
    expect(await other.find(deriveSessionKey(OLD).id)).toEqual(deriveSessionKey(OLD));
    expect(await other.find('unknown0')).toBeUndefined();
  });

  it('are used from the moment at which the file appears, and sessions of before stay valid in this process', async () => {
    const file = keys();
    const own = await file.sealing();
    expect(await file.find(own.id)).toEqual(own);
    expect(problems).toEqual([expect.stringContaining('ENOENT')]);
    expect(await keys().find(own.id)).toBeUndefined();
    await writeFile(path, OLD);
    expect(await file.sealing()).toEqual(own);
    clock.jump(10_000);
    expect(await file.sealing()).toEqual(deriveSessionKey(OLD));
    expect(await file.find(own.id)).toEqual(own);
  });

  it('are read for a session with an unknown key, at most once a second', async () => {
    await writeFile(path, OLD);
    const file = keys();
    await file.sealing();
    await writeFile(path, `${NEW}\n${OLD}`);
    expect(await file.find(deriveSessionKey(NEW).id)).toBeUndefined();
    clock.jump(1_000);
    expect(await file.find(deriveSessionKey(NEW).id)).toEqual(deriveSessionKey(NEW));
  });

  it('are those of before or after a change for requests in flight, and a removed one is never found again', async () => {
    const [before, after] = [deriveSessionKey(OLD), deriveSessionKey(NEW)];
    await writeFile(path, OLD);
    const file = keys();
    await file.sealing();
    for (const content of [`${NEW}\n${OLD}`, `${OLD}\n${NEW}`, `${NEW}\n${OLD}`]) {
      clock.jump(10_000);
      // Readers may see the file empty or cut.
      const changing = writeFile(path, content);
      const asked = Array.from({ length: 50 }, () => [file.sealing(), file.find(before.id)] as const).flat();
      for (const key of await Promise.all(asked)) expect([before.id, after.id]).toContain(key?.id);
      await changing;
    }
    await writeFile(path, NEW);
    clock.jump(10_000);
    const asked = Array.from({ length: 50 }, () => file.find(before.id));
    expect(await Promise.all(asked)).toEqual(Array.from({ length: 50 }, () => undefined));
    await rm(path);
    clock.jump(10_000);
    expect([await file.find(before.id), await file.find(after.id)]).toEqual([undefined, after]);
  });

  it('stay in use while the file is missing or invalid, and each problem is reported once', async () => {
    await writeFile(path, OLD);
    const file = keys();
    await file.sealing();
    for (const content of [undefined, undefined, 'short', 'x'.repeat(70_000)]) {
      await (content === undefined ? rm(path, { force: true }) : writeFile(path, content));
      clock.jump(10_000);
      expect(await file.sealing()).toEqual(deriveSessionKey(OLD));
    }
    expect(problems).toEqual([
      expect.stringContaining('ENOENT'),
      expect.stringContaining('line 1 has fewer than 32 characters'),
      expect.stringContaining('larger than 65536 bytes'),
    ]);
  });
});
