import { mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { PROPERTIES } from '../../../src/app/parts/properties.ts';
import { VERSION } from '../../../src/app/parts/version.ts';
import { FORMER_NAMES, type FormerNames } from '../../../src/config/former-names.ts';
import { SettingsError } from '../../../src/config/keys.ts';
import { LiveProperties } from '../../../src/config/live-properties.ts';
import { SETTING_KEYS } from '../../../src/config/schema.ts';
import { loadSettings, type LoadedSettings } from '../../../src/config/settings.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { nearest } from '../../../src/resources/nearest.ts';
import { versionProblem } from '../../../tools/release/changelog.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const removedIn = '9.0.0';
const formerNames: FormerNames = new Map([
  ['log-verbosity', { key: 'log-level', removedIn }],
  ['pinot-controllers', { key: 'controllers', removedIn }],
  ['without-recovery', { key: 'recover-admin', removedIn }],
  ['olap.broker.query.rows', { key: 'olap.broker.query.page.size', removedIn }],
  ['olap.broker.pagination.mode', { instead: 'nothing is done', removedIn }],
  ['send-reports', { instead: 'nothing is done', removedIn }],
]);
const sources = { properties: PROPERTIES, suggest: nearest, formerNames };

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-former-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const load = (args: string[], env: Record<string, string> = {}): Promise<LoadedSettings> =>
  loadSettings({ args, env, ...sources });

async function problems(args: string[], env: Record<string, string> = {}): Promise<readonly string[]> {
  const error: unknown = await load(args, env).catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(SettingsError);
  return (error as SettingsError).problems;
}

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

/** The file is never seen empty. */
async function replace(path: string, content: string): Promise<void> {
  await writeFile(`${path}.new`, content);
  await rename(`${path}.new`, path);
}

const warning = (source: string, former: string, key: string): string =>
  `${source}: \`${former}\` is now \`${key}\`; version 9.0.0 does not accept the former name`;

describe('the former name of a setting', () => {
  it('works as a flag, with the value in the same or the next argument, alone, or repeated', async () => {
    const { settings, warnings } = await load([
      '--log-verbosity=debug',
      ...['--pinot-controllers', 'http://a:9000', '--pinot-controllers', 'http://b:9000'],
      '--without-recovery',
    ]);
    expect(settings).toMatchObject({
      'log-level': 'debug',
      controllers: ['http://a:9000', 'http://b:9000'],
      'recover-admin': true,
    });
    expect(warnings).toEqual([
      warning('flag --log-verbosity', 'log-verbosity', 'log-level'),
      warning('flag --pinot-controllers', 'pinot-controllers', 'controllers'),
      warning('flag --without-recovery', 'without-recovery', 'recover-admin'),
    ]);
  });

  it('works as a variable, in a file, and for a property', async () => {
    const path = await file('all.yaml', 'olap.broker.query.rows: 7\nlog-verbosity: warn\n');
    const found = await load(['--config', path], { OLAP_WARDEN_PINOT_CONTROLLERS: 'http://a:9000' });
    expect(found.settings).toMatchObject({ 'log-level': 'warn', controllers: ['http://a:9000'] });
    expect(found.properties['olap.broker.query.page.size']).toBe(7);
    expect(found.warnings).toHaveLength(3);
    expect(found.warnings[2]).toContain(
      'environment variable OLAP_WARDEN_PINOT_CONTROLLERS: `pinot-controllers` is now',
    );
    const flag = await load(['--set', 'olap.broker.query.rows=8']);
    expect(flag.properties['olap.broker.query.page.size']).toBe(8);
    expect(flag.warnings).toEqual([warning('flag --set', 'olap.broker.query.rows', 'olap.broker.query.page.size')]);
  });

  it('has the precedence of its source', async () => {
    const path = await file('order.yaml', 'log-level: warn\n');
    expect((await load(['--config', path], { OLAP_WARDEN_LOG_VERBOSITY: 'error' })).settings['log-level']).toBe(
      'error',
    );
    const former = await file('former.yaml', 'log-verbosity: warn\n');
    expect((await load(['--config', former, '--log-level', 'error'])).settings['log-level']).toBe('error');
  });

  it('is a problem beside the present name in one source', async () => {
    const path = await file('both.properties', 'log-level=warn\nlog-verbosity=error\n');
    const both = '`log-verbosity` is the former name of `log-level`: set only `log-level`';
    expect(await problems(['--config', path])).toEqual([`${path}, line 2: ${both}`]);
    expect(await problems(['--log-level=warn', '--log-verbosity=error'])).toEqual([`flag --log-verbosity: ${both}`]);
    expect(await problems([], { OLAP_WARDEN_LOG_LEVEL: 'warn', OLAP_WARDEN_LOG_VERBOSITY: 'warn' })).toEqual([
      `environment variable OLAP_WARDEN_LOG_VERBOSITY: ${both}`,
    ]);
  });

  it('is not suggested, and its value is checked', async () => {
    expect(await problems(['--log-verbositi=warn'])).toEqual([expect.not.stringContaining('log-verbosity`')]);
    expect(await problems([], { OLAP_WARDEN_LOG_VERBOSITI: 'warn' })).toEqual([
      expect.not.stringContaining('VERBOSITY'),
    ]);
    expect((await problems(['--log-verbosity=loud']))[0]).toMatch(/^flag --log-verbosity: `log-level`: `loud` /);
  });

  it('takes effect in a changed file, with a warning', async () => {
    const path = await file('live.yaml', 'olap.broker.query.page.size: 5\n');
    const { properties } = await load(['--config', path]);
    const warnings: string[] = [];
    const refused: SettingsError[] = [];
    const live = new LiveProperties({
      known: PROPERTIES,
      initial: properties,
      file: path,
      fixed: [],
      suggest: nearest,
      formerNames,
      clock: systemClock,
      onFormerNames: (found) => void warnings.push(...found),
      onRejected: (error) => void refused.push(error),
      intervalMs: 5,
    });
    live.start();
    try {
      await replace(path, 'olap.broker.query.rows: 6\n');
      await vi.waitFor(() => expect(live.get()['olap.broker.query.page.size']).toBe(6), { timeout: WAIT_LIMIT_MS });
      expect(warnings).toEqual([warning(path, 'olap.broker.query.rows', 'olap.broker.query.page.size')]);
      await replace(path, 'olap.broker.query.rows: 6\nolap.broker.query.page.size: 7\n');
      await vi.waitFor(() => expect(refused).toHaveLength(1), { timeout: WAIT_LIMIT_MS });
      expect(live.get()['olap.broker.query.page.size']).toBe(6);
    } finally {
      await live.stop();
    }
  });
});

describe('a setting that no longer exists', () => {
  const gone = (source: string, key: string): string =>
    `${source}: \`${key}\` no longer exists and is ignored: nothing is done; version 9.0.0 rejects the key`;

  it('is ignored with a warning, whatever its value, wherever it is set', async () => {
    const path = await file('gone.yaml', 'olap.broker.pagination.mode: [x]\nsend-reports: maybe\nlog-level: warn\n');
    const args = ['--config', path, '--send-reports', '--set', 'olap.broker.pagination.mode=x', '--port', '1'];
    const { settings, warnings } = await load(args, { OLAP_WARDEN_SEND_REPORTS: 'true' });
    expect(settings).toMatchObject({ 'log-level': 'warn', port: 1 });
    expect(settings).not.toHaveProperty('send-reports');
    expect(warnings).toEqual([
      gone(path, 'olap.broker.pagination.mode'),
      gone(path, 'send-reports'),
      gone('environment variable OLAP_WARDEN_SEND_REPORTS', 'send-reports'),
      gone('flag --send-reports', 'send-reports'),
      gone('flag --set', 'olap.broker.pagination.mode'),
    ]);
  });

  it('stops nothing: rows left in cursors of Pinot are stored by the gateway', async () => {
    const path = await file('native.yaml', 'olap.broker.pagination.native: true\n');
    const { warnings } = await loadSettings({
      args: ['--config', path],
      env: {},
      properties: PROPERTIES,
      suggest: nearest,
    });
    expect(warnings).toEqual([
      `${path}: \`olap.broker.pagination.native\` no longer exists and is ignored: the rows of results are in the store of ` +
        '`olap.broker.pagination.protocol`, not in cursors of Pinot; version 0.4.0 rejects the key',
    ]);
  });
});

it('every former name has a present key, or nothing replaces it, and is removed in the version that says so', () => {
  const keys = new Set([...SETTING_KEYS.keys(), ...PROPERTIES.keys.keys()]);
  for (const [former, known] of FORMER_NAMES) {
    const { removedIn: version } = known;
    expect(keys.has(former), former).toBe(false);
    if ('key' in known) expect(keys.has(known.key), known.key).toBe(true);
    expect(version === VERSION || versionProblem(version, VERSION) !== undefined, `remove \`${former}\``).toBe(false);
  }
});
