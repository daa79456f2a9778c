import { readdirSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { CUSTOM_KINDS, type CustomKind, type ResourceByKind } from '../../../src/resources/kinds.ts';
import { validateResource } from '../../../src/resources/validate.ts';
import { missingFields } from '../../../src/kubernetes/definitions.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { connect, eventually, type Connection } from '../../support/operator.ts';
import { KUBECTL_TIMEOUT, WAIT_LIMIT_MS } from '../../support/limits.ts';

const RELEASED = join(import.meta.dirname, '../../fixtures/released');
const RELEASES = readdirSync(RELEASED, { withFileTypes: true }).flatMap((entry) =>
  entry.isDirectory() ? [entry.name] : [],
);

it('the released definitions are unchanged', () => {
  expect(RELEASES).toContain('v0.1.0');
});

describe.each(RELEASES)('a cluster with the objects of %s', (release) => {
  const folder = join(RELEASED, release);
  // Its own control plane, because the definitions are cluster-scoped.
  let api: ControlPlane;
  let connection: Connection;
  let missingBefore: string[];

  /** Fields that the definitions in the cluster lack, such as `Role spec.policies`. */
  const missing = async (): Promise<string[]> =>
    [...(await missingFields(connection.transport, AbortSignal.timeout(WAIT_LIMIT_MS)))].flatMap(([kind, fields]) =>
      fields.map((field) => `${kind} ${field}`),
    );

  beforeAll(async () => {
    api = await startControlPlane();
    await api.mustKubectl(['apply', '--server-side', '-f', join(folder, 'crds')]);
    await api.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, '-f', join(folder, 'crds')]);
    await api.mustKubectl(['apply', '-f', join(folder, 'samples')]);
    connection = connect(api.kubeconfigPath, 'default');
    missingBefore = await missing();
    await api.applyCrds();
  });
  afterAll(async () => {
    await connection?.close();
    await api.stop();
  });

  it('is found to have outdated definitions until the current ones are applied', async () => {
    // They lack the version that olap-warden uses.
    expect(missingBefore).toEqual(CUSTOM_KINDS.flatMap((kind) => [`${kind} spec`, `${kind} status`]));
    await eventually(missing, (fields) => fields.length === 0);
  });

  it('accepts them with the current definitions: stored, applied again, updated', async () => {
    const samples = readdirSync(join(folder, 'samples'));
    const stored = await api.mustKubectl(['get', 'olap', '-o', 'json']);
    const { items } = JSON.parse(stored.stdout) as { items: object[] };
    expect(items).toHaveLength(samples.length);
    const applied = await api.mustKubectl(['apply', '--validate=strict', '-f', join(folder, 'samples')]);
    const warnings = applied.stderr.split('\n').filter(Boolean);
    expect(warnings.filter((line) => !/^Warning: olapwarden.io\/v1alpha1 \w+ is deprecated: use /.test(line))).toEqual(
      [],
    );
    expect(applied.stdout.match(/ unchanged$/gm)).toHaveLength(samples.length);
    const replaced = await api.mustKubectl(['replace', '--validate=strict', '-f', '-'], { input: stored.stdout });
    expect(replaced.stdout.match(/ replaced$/gm)).toHaveLength(samples.length);
  });

  it('has no object that the folder store rejects', async () => {
    for (const name of readdirSync(join(folder, 'samples'))) {
      const object = parse(await readFile(join(folder, 'samples', name), 'utf8')) as ResourceByKind[CustomKind];
      expect(() => validateResource(object.kind, object), name).not.toThrow();
    }
  });
});
