import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { PROPERTIES } from '../../../src/app/parts/properties.ts';
import { loadSettings } from '../../../src/config/settings.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { recordsAuthors } from '../../support/kubernetes/manifests.ts';
import { ADMISSION_APIS, COMBINATIONS, FOREIGN_KINDS, REQUIRED } from '../../../tools/helm/combinations.ts';
import { CHART, helmTools, output, render } from '../../../tools/helm/render.ts';

/** The first use on a machine builds helm. */
const BUILD_TIMEOUT_MS = 600_000;

let api: ControlPlaneClient;
let helm: string;
let namespace: string;
let authors: boolean;
let folder: string;

beforeAll(async () => {
  helm = join(await helmTools(), 'helm');
  api = await sharedControlPlane();
  authors = await recordsAuthors(api);
  await api.applyCrds();
  namespace = await api.createNamespace('chart');
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-chart-'));
}, BUILD_TIMEOUT_MS);
afterAll(() => rm(folder, { recursive: true, force: true }));

interface Rendered {
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    readonly namespace?: string;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly data?: Readonly<Record<string, string>>;
}

function objectsOf(manifest: string): Rendered[] {
  return parseAllDocuments(manifest)
    .map((document) => document.toJS() as Rendered | null)
    .filter((object) => object !== null);
}

describe.each(COMBINATIONS)('the chart with $name', (combination) => {
  it('is accepted by a real API server, field by field', async () => {
    // What helm finds on this API server.
    const apis = (combination.apis ?? ADMISSION_APIS).filter(
      (each) => authors || !each.endsWith('/MutatingAdmissionPolicy'),
    );
    const objects = objectsOf(await render(helm, { ...combination, apis }, { namespace }));
    const known = objects.filter(({ kind }) => !FOREIGN_KINDS.includes(kind));
    expect(known.length).toBeGreaterThan(10);
    const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: known });
    const flags = ['--server-side', '--dry-run=server', '--force-conflicts', '--validate=strict'];
    const applied = await api.mustKubectl(['apply', ...flags, '-f', '-'], { input: list });
    expect(applied.stderr).not.toContain('Warning');
    expect(applied.stdout.trim().split('\n')).toHaveLength(known.length);
  });

  it('contains settings that the program accepts', async () => {
    const objects = objectsOf(await render(helm, combination, { namespace }));
    const content = objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'olap-warden');
    const file = join(folder, 'settings.yaml');
    await writeFile(file, content?.data?.['settings.yaml'] ?? '');
    const { settings } = await loadSettings({
      args: ['--config', file],
      env: {},
      properties: PROPERTIES,
      suggest: () => undefined,
    });
    expect(settings.controllers).toEqual(['http://pinot-controller.pinot:9000']);
    expect(settings['peers-service']).toBe(`olap-warden-gateway-peers.${namespace}:8080`);
  });
});

describe('values of the chart', () => {
  interface Pods {
    readonly spec: {
      readonly template: {
        readonly metadata: { readonly annotations: Readonly<Record<string, string>> };
        readonly spec: { readonly serviceAccountName: string; readonly securityContext: object };
      };
    };
  }
  async function checksum(values: Readonly<Record<string, unknown>>): Promise<string | undefined> {
    const objects = objectsOf(await render(helm, { name: '', values }));
    const pods = objects.find(({ kind }) => kind === 'StatefulSet') as (Rendered & Pods) | undefined;
    return pods?.spec.template.metadata.annotations['checksum/settings'];
  }

  it('restart the pods for a changed setting, but not for a changed property, which is reloaded', async () => {
    const [first, property, setting] = await Promise.all([
      checksum({}),
      checksum({ properties: { 'olap.broker.pagination.protocol': 'file' } }),
      checksum({ settings: { 'log-level': 'debug' } }),
    ]);
    expect(first).toMatch(/^[0-9a-f]{64}$/);
    expect(property).toBe(first);
    expect(setting).not.toBe(first);
  });

  it.each([
    [null, 'Set a first administrator'],
    [{}, 'Set a first administrator'],
    [{ name: 'ada@example.com' }, 'Sign in as ada@example.com, who has the role system-admin'],
  ])('say in the notes who signs in first, with firstAdministrator %j', async (firstAdministrator, text) => {
    const flags = ['--dry-run=client', '--namespace', 'olap', '--values', '-'];
    const values = JSON.stringify({ ...REQUIRED, firstAdministrator });
    expect(await output(helm, ['install', 'olap-warden', CHART, ...flags], values)).toContain(text);
  });

  it('leave the user of the pods to the admission of OpenShift, within the restricted level', async () => {
    const restricted = await api.createNamespace('openshift');
    await api.mustKubectl(['label', 'namespace', restricted, 'pod-security.kubernetes.io/enforce=restricted']);
    const podSecurityContext = { runAsUser: null, runAsGroup: null, fsGroup: null };
    const rendered = await render(helm, { name: '', values: { podSecurityContext } }, { namespace: restricted });
    const workloads = objectsOf(rendered).filter(({ kind }) => ['StatefulSet', 'Deployment'].includes(kind));
    expect(workloads).toHaveLength(2);
    for (const { metadata, spec } of workloads as (Rendered & Pods)[]) {
      const { serviceAccountName, securityContext } = spec.template.spec;
      expect(securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      await api.mustKubectl(['-n', restricted, 'create', 'serviceaccount', serviceAccountName]);
      // What restricted-v2 sets: a user and a group of the namespace's range.
      const own = { ...securityContext, runAsUser: 1_000_730_000, fsGroup: 1_000_730_000 };
      for (const context of [securityContext, own]) {
        const pod = {
          apiVersion: 'v1',
          kind: 'Pod',
          metadata: { name: metadata.name, namespace: restricted },
          spec: { ...spec.template.spec, securityContext: context },
        };
        const { stderr } = await api.mustKubectl(['create', '--dry-run=server', '-f', '-'], {
          input: JSON.stringify(pod),
        });
        expect(stderr).not.toContain('would violate PodSecurity');
      }
    }
  });

  it.each([
    [{}, 5, 5],
    [{ keep: false }, 5, 0],
    [{ enabled: false }, 0, 0],
  ])('say whether the definitions come with it, and stay: %j', async (crds, rendered, kept) => {
    const definitions = objectsOf(await render(helm, { name: '', values: { crds } })).filter(
      ({ kind }) => kind === 'CustomResourceDefinition',
    );
    expect(definitions).toHaveLength(rendered);
    const keeping = definitions.filter(({ metadata }) => metadata.annotations?.['helm.sh/resource-policy'] === 'keep');
    expect(keeping).toHaveLength(kept);
  });
});

describe('properties as nested mappings', () => {
  it('have the same effect as with dotted keys', async () => {
    const settings = async (properties: object): Promise<string | undefined> => {
      const objects = objectsOf(await render(helm, { name: '', values: { properties } }));
      return objects.find(({ kind, metadata }) => kind === 'ConfigMap' && metadata.name === 'olap-warden')?.data?.[
        'settings.yaml'
      ];
    };
    const dotted = await settings({ 'olap.broker.pagination.protocol': 'file', 'controller.replication.threshold': 2 });
    expect(dotted).toContain('olap.broker.pagination.file.data.dir: /var/lib/olap-warden/results');
    const nested = {
      olap: { broker: { pagination: { protocol: 'file' } } },
      controller: { 'replication.threshold': 2 },
    };
    expect(await settings(nested)).toBe(dotted);
  });
});

describe('values that the chart rejects', () => {
  it.each([
    ['no controller', { engine: { controllers: [] } }, 'controllers'],
    ['a value that it does not know', { gatway: {} }, 'gatway'],
    [
      'gateways without names over results in memory',
      { gateway: { kind: 'Deployment' } },
      'olap.broker.pagination.protocol=s3 or gcs',
    ],
    ['a digest that is none', { image: { digest: 'latest' } }, 'digest'],
    ['an Ingress without hosts', { ingress: { enabled: true } }, "at '/ingress/hosts': minItems"],
    ['a route without a gateway', { gatewayRoute: { enabled: true } }, "at '/gatewayRoute/parentRefs': minItems"],
    [
      'a setting that the program does not know',
      { settings: { 'log-levle': 'debug' } },
      "at '/settings': additional properties 'log-levle' not allowed",
    ],
    [
      'a setting that the chart derives',
      { settings: { 'leader-lease': 'other' } },
      "additional properties 'leader-lease'",
    ],
    ['another namespace', { settings: { namespace: 'other' } }, "additional properties 'namespace' not allowed"],
    [
      'an alert that does not exist',
      { metrics: { alerts: { disabled: ['OlapWardenNoLeeder'] } } },
      "at '/metrics/alerts/disabled/0'",
    ],
    [
      'a gateway that ends before its pause',
      { gateway: { preStopSeconds: 90 } },
      'gateway.preStopSeconds (90) must be less than gateway.terminationGracePeriodSeconds (60)',
    ],
    ['a value that a setting does not have', { settings: { 'log-level': 'loud' } }, "at '/settings/log-level'"],
    [
      'a property that the program does not know',
      { properties: { 'olap.broker.pagination.protocl': 's3' } },
      "at '/properties': additional properties 'olap.broker.pagination.protocl' not allowed",
    ],
    [
      'an unknown property as a nested mapping, as `--set` writes it without escapes',
      { properties: { olap: { broker: { pagination: { protocl: 's3' } } } } },
      "additional properties 'protocl' not allowed",
    ],
    [
      'a property that is too small',
      { properties: { 'olap.broker.query.page.size': 0 } },
      "at '/properties/olap.broker.query.page.size': minimum",
    ],
    ['containers in podSpec', { operator: { podSpec: { containers: [] } } }, "at '/operator/podSpec/containers'"],
    [
      'no service account',
      { operator: { serviceAccount: { create: false } } },
      'operator.serviceAccount.create=false requires operator.serviceAccount.name',
    ],
    [
      'one service account for both components',
      { operator: { serviceAccount: { name: 'one' } }, gateway: { serviceAccount: { name: 'one' } } },
      'operator and gateway have the same service account `one`',
    ],
    [
      'a volume for each pod of a Deployment',
      {
        gateway: { kind: 'Deployment', persistence: { enabled: true } },
        properties: { 'olap.broker.pagination.protocol': 's3' },
      },
      'gateway.persistence.enabled requires gateway.kind=StatefulSet',
    ],
  ])('%s', async (_, values, message) => {
    await expect(render(helm, { name: '', values })).rejects.toThrow(message);
  });
});
