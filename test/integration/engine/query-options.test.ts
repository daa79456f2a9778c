import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it } from 'vitest';
import { OPTIONS_VERSION, QUERY_OPTIONS } from '../../../src/access/sql/query-options.ts';
import { installed } from '../../../tools/pinot/jvm.ts';
import { execute as run } from '../../support/execute.ts';

// The constants of the engine's jars are exactly the options that the table has for that version.
const KEYS = 'org.apache.pinot.spi.utils.CommonConstants$Broker$Request$QueryOptionKey';
/** Options that the engine reads without a constant in that class. */
const WITHOUT_CONSTANT = new Set(['database', 'trace']);

/** Names of the options by version. */
const versions = new Map<string, readonly string[]>();

async function optionsOf(jar: string): Promise<string[]> {
  const { stdout } = await run('javap', ['-constants', '-cp', jar, KEYS]);
  return [...stdout.matchAll(/java\.lang\.String \w+ = "([^"]+)"/g)].map(([, name]) => name as string);
}

beforeAll(async () => {
  const [own, others] = [await installed('pinot'), await installed('pinot-parsers')];
  versions.set('0.11.0', await optionsOf(join(own, 'lib/pinot-spi-0.11.0.jar')));
  for (const version of await readdir(others)) {
    versions.set(version, await optionsOf(join(others, version, `lib/pinot-spi-${version}.jar`)));
  }
});

function has(version: string, since: string, until: string | undefined): boolean {
  return order(since) <= order(version) && (until === undefined || order(version) <= order(until));
}

function order(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major * 1000 + minor;
}

it('knows every option of every version, and no other', () => {
  expect(versions.size).toBeGreaterThan(1);
  for (const [version, names] of versions) {
    const known = QUERY_OPTIONS.filter(({ since, until }) => has(version, since, until)).map(({ name }) => name);
    const listed = known.filter((name) => !WITHOUT_CONSTANT.has(name));
    expect([version, listed.toSorted()]).toEqual([version, [...names].toSorted()]);
  }
});

it('lists options up to the newest version, or that of newer sources', () => {
  const newest = [...versions.keys()].map(order).toSorted((a, b) => b - a)[0];
  expect(order(OPTIONS_VERSION)).toBeGreaterThanOrEqual(newest ?? Infinity);
});
