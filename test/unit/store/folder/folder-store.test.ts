// @module-tag slow
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { FolderStore, type FolderStoreOptions } from '../../../../src/store/folder/folder-store.ts';
import type { StoreEvent } from '../../../../src/store/resource-store.ts';
import type { Secret } from '../../../../src/resources/kinds.ts';
import { policy, role, secret, withLabels } from '../../../builders/resources.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';

const DEBOUNCE_MS = 100;
const RESCAN_MS = 30_000;

let directory: string;
let clock: FakeClock;
let store: FolderStore;
let events: StoreEvent[];
let errors: string[];

async function open(options: FolderStoreOptions = {}): Promise<void> {
  events = [];
  errors = [];
  const onError = (error: unknown) => errors.push(error instanceof Error ? error.message : String(error));
  store = await FolderStore.open(directory, { clock, onError, ...options });
  store.subscribe('Role', (event) => events.push(event));
}

async function reopen(options: FolderStoreOptions = {}): Promise<void> {
  await store.close();
  await open(options);
}

beforeEach(async () => {
  clock = new FakeClock();
  directory = await mkdtemp(join(tmpdir(), 'olap-warden-store-'));
  await open();
});

afterEach(async () => {
  await store.close();
  await rm(directory, { recursive: true });
});

const path = (...parts: string[]) => join(directory, ...parts);
const brief = () =>
  events.map(({ type, object }) => `${type} ${object.metadata.name}`).filter((text) => !text.includes(MARKER));
const manifest = (name: string, policies: string[] = []) =>
  `# written by a person\napiVersion: olapwarden.io/v1beta1\nkind: Role\nmetadata:\n  name: ${name}\nspec:\n  policies: [${policies.join(', ')}]\n`;
const policiesOf = (name: string) => store.get('Role', name)?.spec.policies;

/** Runs the due scan. Writes wait for it, also this one, which fails. */
async function scan(): Promise<void> {
  await clock.advance(DEBOUNCE_MS);
  await store.delete('Policy', 'missing').catch(() => undefined);
}

/** Waits until the file system has reported a change. */
const scanIsDue = async () => until('a scan is due', () => clock.isPending(DEBOUNCE_MS));

/** Runs scans as they become due until `holds()` is true. */
const scanUntil = async (what: string, holds: () => boolean) =>
  until(what, holds, async () => (clock.isPending(DEBOUNCE_MS) ? scan() : sleep(2)));
/** The same where the file system reports no changes. */
const rescanUntil = async (what: string, holds: () => boolean) =>
  until(what, holds, async () => (clock.isPending(DEBOUNCE_MS) ? scan() : clock.advance(RESCAN_MS)));

const MARKER = 'marker';
/** Runs scans until all earlier changes are applied or rejected: those of a later file are. */
async function scanAll(): Promise<void> {
  await writeFile(path('roles', `${MARKER}.yaml`), manifest(MARKER));
  await scanUntil('the marker', () => store.get('Role', MARKER) !== undefined);
}

describe('files of the store', () => {
  test('a manifest contains only the fields that users write', async () => {
    const created = await store.create('Role', role('analysts', { description: 'yes', policies: ['read-all', '1.0'] }));
    await store.updateStatus('Role', { ...created, status: { srn: 'srn2:role#analysts' } });
    const text = await readFile(path('roles', 'analysts.yaml'), 'utf8');
    expect(parse(text)).toEqual({
      apiVersion: 'olapwarden.io/v1beta1',
      kind: 'Role',
      metadata: { name: 'analysts' },
      spec: { description: 'yes', policies: ['read-all', '1.0'] },
    });
  });

  test('a manifest keeps the version of the API that it has', async () => {
    await writeFile(path('roles', 'a.yaml'), manifest('a').replace('v1beta1', 'v1alpha1'));
    await scanUntil('a', () => store.get('Role', 'a') !== undefined);
    const found = store.get('Role', 'a')!;
    await store.update('Role', { ...found, spec: { policies: ['p'] } });
    expect(parse(await readFile(path('roles', 'a.yaml'), 'utf8'))).toMatchObject({
      apiVersion: 'olapwarden.io/v1alpha1',
      spec: { policies: ['p'] },
    });
  });

  test('temporary files and the files of a deleted object are removed', async () => {
    const created = await store.create('Role', role('a'));
    await store.update('Role', { ...created, spec: { description: 'x' } });
    expect(await readdir(path('roles'))).toEqual(['a.yaml']);
    await store.delete('Role', 'a');
    expect(await readdir(path('roles'))).toEqual([]);
    expect(await readdir(path('.state', 'roles'))).toEqual([]);
  });

  test('only the owner can read Secrets and their records', async () => {
    const labels = withLabels<Secret>({ 'olapwarden.io/part': 'service-token-secret' });
    await store.create('Secret', secret('token', { hash: 'top-secret' }, labels));
    const mode = async (...parts: string[]) => ((await stat(path(...parts))).mode & 0o777).toString(8);
    expect(await mode('secrets')).toBe('700');
    expect(await mode('secrets', 'token.yaml')).toBe('600');
    expect(await mode('.state')).toBe('700');
    expect(await mode('.state', 'secrets', 'token.json')).toBe('600');
    await store.close();
    await chmod(path('secrets'), 0o755);
    await open();
    expect(await mode('secrets')).toBe('700');
  });

  test('stores an object with the longest allowed name', async () => {
    const name = 'n'.repeat(253);
    const other = `${'n'.repeat(252)}m`;
    await store.create('Role', role(name, { description: '1' }));
    await store.create('Role', role(other, { description: '2' }));
    await reopen();
    expect(store.list('Role').map(({ spec }) => spec.description)).toEqual(['2', '1']);
  });
});

describe('after a restart', () => {
  test('all objects and versions are the same', async () => {
    const created = await store.create('Role', role('a', { policies: ['p'] }));
    const updated = await store.update('Role', { ...created, spec: { policies: ['q'] } });
    const final = await store.updateStatus('Role', { ...updated, status: { srn: 'srn2:role#a' } });
    await reopen();
    expect(store.get('Role', 'a')).toEqual(final);
    const next = await store.create('Role', role('b'));
    expect(BigInt(next.metadata.resourceVersion ?? 0)).toBeGreaterThan(BigInt(final.metadata.resourceVersion ?? 0));
  });

  test('versions keep increasing, also after the clock was set back', async () => {
    const created = await store.create('Role', role('a'));
    await store.close();
    const late = { now: () => 1000, monotonic: () => 1000, random: () => 0, schedule: () => () => {} };
    await open({ clock: late });
    const updated = await store.update('Role', { ...created, spec: { description: 'x' } });
    expect(BigInt(updated.metadata.resourceVersion ?? 0)).toBe(BigInt(created.metadata.resourceVersion ?? 0) + 1n);
  });

  test('changes by hand in the meantime are applied', async () => {
    const kept = await store.create('Role', role('changed', { policies: ['p'] }));
    await store.create('Role', role('removed'));
    await store.close();
    await writeFile(path('roles', 'changed.yaml'), manifest('changed', ['q']));
    await rm(path('roles', 'removed.yaml'));
    await writeFile(path('roles', 'new.yml'), manifest('new'));
    await open();
    expect(store.list('Role').map(({ metadata }) => metadata.name)).toEqual(['changed', 'new']);
    expect(store.get('Role', 'changed')).toMatchObject({
      metadata: { uid: kept.metadata.uid, generation: 2 },
      spec: { policies: ['q'] },
    });
  });

  test('the last accepted state stays in effect if the manifest became invalid', async () => {
    const created = await store.create('Role', role('a', { policies: ['p'] }));
    await store.close();
    await writeFile(path('roles', 'a.yaml'), 'apiVersion: [');
    await open();
    expect(store.get('Role', 'a')).toEqual(created);
    expect(store.health().lastError).toMatch(/^roles\/a.yaml: invalid YAML at line 1/);
  });

  test('an object whose record is damaged gets a new uid', async () => {
    const created = await store.create('Role', role('a', { policies: ['p'] }));
    await store.close();
    await writeFile(path('.state', 'roles', 'a.json'), '{"half');
    await open();
    expect(errors).toEqual([expect.stringContaining('.state/roles/a.json')]);
    expect(store.get('Role', 'a')?.spec).toEqual(created.spec);
    expect(store.get('Role', 'a')?.metadata.uid).not.toBe(created.metadata.uid);
  });

  test('opens a folder that contains only files written by hand', async () => {
    await store.close();
    await rm(path('.state'), { recursive: true });
    await writeFile(path('roles', 'x.yaml'), manifest('from-git'));
    await writeFile(path('policies', 'p.json'), JSON.stringify(policy('in-json')));
    await open();
    expect(store.get('Role', 'from-git')).toBeDefined();
    expect(store.get('Policy', 'in-json')).toBeDefined();
  });
});

describe('changes by hand', () => {
  test('a copied file is applied, whatever its name', async () => {
    await writeFile(path('role.yaml'), manifest('data-engineers', ['p']));
    await cp(path('role.yaml'), path('roles', 'role.yaml'));
    await scanUntil('the role', () => policiesOf('data-engineers') !== undefined);
    const found = store.get('Role', 'data-engineers');
    if (found === undefined) throw new Error('unreachable');
    await store.update('Role', { ...found, spec: { policies: ['q'] } });
    expect(await readdir(path('roles'))).toEqual(['role.yaml']);
    expect(parse(await readFile(path('roles', 'role.yaml'), 'utf8'))).toMatchObject({ spec: { policies: ['q'] } });
  });

  test('a file that is written line by line is applied only when it is complete', async () => {
    const text = manifest('slow', ['p', 'q', 'r']);
    // Each part that ends with a complete line is valid YAML, and some are a valid Role with fewer policies.
    const lines = text.replace('[p, q, r]', '\n  - p\n  - q\n  - r').split('\n');
    for (let i = 1; i <= lines.length; i++) {
      await writeFile(path('roles', 'slow.yaml'), lines.slice(0, i).join('\n'));
      await scanIsDue();
      await scan();
    }
    await scanUntil('the role', () => store.get('Role', 'slow') !== undefined);
    expect(policiesOf('slow')).toEqual(['p', 'q', 'r']);
    expect(brief()).toEqual(['added slow']);
    expect(errors).toEqual([]);
  });

  test('an editor that replaces the old file by a new one makes one change', async () => {
    await store.create('Role', role('a', { policies: ['p'] }));
    await rename(path('roles', 'a.yaml'), path('roles', 'a.yaml~'));
    await writeFile(path('roles', '.a.yaml.swp'), 'x');
    await writeFile(path('roles', '.hidden.yaml'), manifest('hidden'));
    await writeFile(path('roles', 'a.yaml'), manifest('a', ['q']));
    await scanUntil('the change', () => policiesOf('a')?.[0] === 'q');
    await scanAll();
    expect(brief()).toEqual(['added a', 'modified a']);
    expect(errors).toEqual([]);
  });

  test('a renamed file keeps its object', async () => {
    const created = await store.create('Role', role('a'));
    await rename(path('roles', 'a.yaml'), path('roles', 'b.yaml'));
    await scanAll();
    expect(brief()).toEqual(['added a']);
    expect(store.get('Role', 'a')).toEqual(created);
    await store.delete('Role', 'a');
    expect(await readdir(path('roles'))).toEqual([`${MARKER}.yaml`]);
  });

  test('another name in the same file replaces the object', async () => {
    await store.create('Role', role('a'));
    await writeFile(path('roles', 'a.yaml'), manifest('b'));
    await scanUntil('b', () => store.get('Role', 'b') !== undefined);
    await scanUntil('no a', () => store.get('Role', 'a') === undefined);
  });

  test('a changed comment or time of the file is not a change of the object', async () => {
    const created = await store.create('Role', role('a', { policies: ['p'] }));
    await writeFile(path('roles', 'a.yaml'), manifest('a', ['p']));
    await scanAll();
    expect(brief()).toEqual(['added a']);
    expect(store.get('Role', 'a')).toEqual(created);
  });

  test('fields that only a server sets are ignored', async () => {
    const object = { ...role('a'), status: { srn: 'forged' } };
    const metadata = { name: 'a', uid: 'forged', resourceVersion: '99999999999999999', generation: 7 };
    await writeFile(path('roles', 'a.json'), JSON.stringify({ ...object, metadata }));
    await scanUntil('a', () => store.get('Role', 'a') !== undefined);
    const found = store.get('Role', 'a');
    expect(found?.status).toBeUndefined();
    expect(found?.metadata).toMatchObject({ generation: 1, uid: expect.stringMatching(/^[0-9a-f-]{36}$/) });
    expect(found?.metadata.resourceVersion).not.toBe(metadata.resourceVersion);
  });

  test.each([
    ['not YAML', 'a: [', /^roles\/x.yaml: invalid YAML at line 1/],
    ['empty', '', /^roles\/x.yaml: the file is empty/],
    ['a list', '- a\n', /not an object: the file must begin with `apiVersion: olapwarden.io\/v1beta1`/],
    [
      'of another kind',
      manifest('x').replace('Role', 'Policy'),
      /invalid `kind` `Policy`: files in `roles\/` must have `kind: Role`/,
    ],
    [
      'of another version',
      manifest('x').replace('v1beta1', 'v7'),
      /invalid `apiVersion` `olapwarden.io\/v7`: it must be `olapwarden.io\/v1beta1` or `olapwarden.io\/v1alpha1`/,
    ],
    ['without a name', manifest('x').replace('name: x', 'labels: {}'), /missing `metadata.name`/],
    ['with a name that cannot be', manifest('../../etc'), /metadata.name/],
    ['misspelt', manifest('x').replace('policies', 'polices'), /polices/],
    ['two objects', `${manifest('x')}---\n${manifest('y')}`, /contains 2 objects .*put each into its own file/],
    ['a bomb of aliases', bomb(), /./],
    ['too large', `# ${'x'.repeat(3_000_000)}`, /the limit is 2097152/],
  ])('a file that is %s is reported and neither applied nor changed', async (_what, text, message) => {
    await writeFile(path('roles', 'x.yaml'), text);
    await writeFile(path('roles', 'y-good.yaml'), manifest('good'));
    await scanUntil('the good one', () => store.get('Role', 'good') !== undefined);
    await scanUntil('the report', () => errors.length > 0);
    expect(errors).toEqual([expect.stringMatching(message)]);
    expect(store.health().lastError).toMatch(message);
    expect(store.list('Role')).toHaveLength(1);
    expect(await readFile(path('roles', 'x.yaml'), 'utf8')).toBe(text);
    await writeFile(path('roles', 'x.yaml'), manifest('repaired'));
    await scanUntil('the repair', () => store.get('Role', 'repaired') !== undefined);
    expect(store.health().lastError).toBeUndefined();
  });

  test('a reported problem never contains the data of a Secret', async () => {
    await writeFile(path('secrets', 'x.yaml'), 'apiVersion: v1\nkind: Secret\ndata: {password: "hunter2" x');
    await writeFile(
      path('secrets', 'y.yaml'),
      'apiVersion: v1\nkind: Secret\nmetadata: {name: y}\nstringData: {p: hunter2}\ndata: {p: 7}\n',
    );
    await scanUntil('the reports', () => errors.length === 2);
    expect(errors.join('\n')).not.toContain('hunter2');
  });

  test('an invalid change is not applied and not overwritten', async () => {
    const created = await store.create('Role', role('a', { policies: ['p'] }));
    const broken = manifest('a').replace('policies', 'polices');
    await writeFile(path('roles', 'a.yaml'), broken);
    await scanUntil('the report', () => errors.length === 1);
    expect(store.get('Role', 'a')).toEqual(created);
    await expect(store.update('Role', { ...created, spec: {} })).rejects.toMatchObject({
      code: 'conflict',
      message: expect.stringContaining('`roles/a.yaml` was changed by hand and is rejected'),
    });
    await expect(store.delete('Role', 'a')).rejects.toMatchObject({ code: 'conflict' });
    expect(await readFile(path('roles', 'a.yaml'), 'utf8')).toBe(broken);
    // Status is the operator's, and not in that file.
    await store.updateStatus('Role', { ...created, status: { srn: 'srn2:role#a' } });
  });

  test('a change that has not been read is not overwritten', async () => {
    const created = await store.create('Role', role('a', { policies: ['p'] }));
    await writeFile(path('roles', 'a.yaml'), manifest('a', ['by-hand']));
    await expect(store.update('Role', { ...created, spec: {} })).rejects.toMatchObject({ code: 'conflict' });
    await writeFile(path('roles', 'b.yaml'), manifest('b', ['by-hand']));
    await expect(store.create('Role', role('b'))).rejects.toMatchObject({ code: 'conflict' });
    expect(await readFile(path('roles', 'b.yaml'), 'utf8')).toContain('by-hand');
  });

  test('of two files with the same object the first one is applied, and the second one after its removal', async () => {
    await store.create('Role', role('a', { policies: ['first'] }));
    await writeFile(path('roles', 'Other.yaml'), manifest('a', ['second']));
    await scanUntil('the report', () => errors.length === 1);
    expect(errors[0]).toContain('`a` is also defined in `a.yaml`');
    expect(policiesOf('a')).toEqual(['first']);
    await rm(path('roles', 'a.yaml'));
    await scanUntil('the second', () => policiesOf('a')?.[0] === 'second');
    expect(brief()).toEqual(['added a', 'modified a']);
    expect(store.health().lastError).toBeUndefined();
  });

  test('an object gets another file name if its file contains another object', async () => {
    await writeFile(path('roles', 'b.yaml'), manifest('a'));
    await scanUntil('a', () => store.get('Role', 'a') !== undefined);
    await store.create('Role', role('b', { description: 'the second' }));
    expect(await readdir(path('roles'))).toEqual(['b.yaml', 'b~2.yaml']);
    await reopen();
    expect(store.list('Role').map(({ metadata }) => metadata.name)).toEqual(['a', 'b']);
  });

  test('a missing folder does not delete the objects', async () => {
    await store.create('Role', role('a'));
    await rename(path('roles'), path('away'));
    await rescanUntil('the failure is reported', () => store.health().lastError !== undefined);
    expect(store.get('Role', 'a')).toBeDefined();
    await expect(store.create('Role', role('b'))).rejects.toMatchObject({ code: 'unavailable' });
    await rename(path('away'), path('roles'));
    await rescanUntil('the failure is over', () => store.health().lastError === undefined);
    expect(brief()).toEqual(['added a']);
    expect((await store.create('Role', role('b'))).metadata.generation).toBe(1);
  });

  test('the periodic scan finds changes that the file system does not report', async () => {
    await store.close();
    await mkdir(path('roles'), { recursive: true });
    await open();
    await rename(path('roles'), path('elsewhere'));
    await cp(path('elsewhere'), path('roles'), { recursive: true });
    await writeFile(path('roles', 'a.yaml'), manifest('a'));
    await rescanUntil('a', () => store.get('Role', 'a') !== undefined);
  });
});

describe('finalizers', () => {
  test('an object whose file was removed by hand waits for them, also after a restart', async () => {
    const finalizers = ['olapwarden.io/test'];
    await store.create('Role', { ...role('a'), metadata: { name: 'a', finalizers } });
    await rm(path('roles', 'a.yaml'));
    await scanUntil('the deletion begins', () => store.get('Role', 'a')?.metadata.deletionTimestamp !== undefined);
    await reopen();
    const dying = store.get('Role', 'a');
    expect(dying?.metadata.deletionTimestamp).toBeDefined();
    if (dying === undefined) throw new Error('unreachable');
    const more = { ...dying.metadata, finalizers: [...finalizers, 'olapwarden.io/more'] };
    await expect(store.update('Role', { ...dying, metadata: more })).rejects.toMatchObject({ code: 'invalid' });
    await store.update('Role', { ...dying, metadata: { ...dying.metadata, finalizers: [] } });
    await reopen();
    expect(store.list('Role')).toEqual([]);
  });
});

describe('one process at a time', () => {
  test('a second store for the folder is rejected with the name of the holder', async () => {
    await expect(FolderStore.open(directory)).rejects.toMatchObject({
      code: 'unavailable',
      message: expect.stringContaining('in use by this process'),
    });
  });

  test('a closed store rejects writes', async () => {
    await store.close();
    await expect(store.create('Role', role('late'))).rejects.toMatchObject({ code: 'unavailable' });
    expect(await readdir(path('roles'))).toEqual([]);
  });
});

function bomb(): string {
  const lines = ['a0: &a0 [x, x, x, x, x, x, x, x, x]'];
  for (let i = 1; i < 10; i++)
    lines.push(
      `a${i}: &a${i} [${Array(9)
        .fill(`*a${i - 1}`)
        .join(', ')}]`,
    );
  return `${lines.join('\n')}\n`;
}
