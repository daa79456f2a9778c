// kube-score on the chart: every critical finding is listed here with the reason for which it is accepted.
import { join, resolve } from 'node:path';
import type { Combination } from './combinations.ts';
import { output, render } from './render.ts';

const INSTALL = resolve(import.meta.dirname, '../install.sh');
/** kube-score's grade of a critical finding; 5 is a warning. */
const CRITICAL = 1;

/** A critical finding that is accepted. docs/install.md has the same table. */
export interface Accepted {
  /** Identifier of kube-score. */
  readonly check: string;
  /** Whether it occurs with the default values, with those for production, or with both. */
  readonly values: 'both' | 'defaults' | 'production';
  /** Names of the objects, without the prefix `olap-warden-`. */
  readonly objects: readonly ('gateway' | 'operator' | 'test')[];
  readonly reason: string;
}

const ALL = ['gateway', 'operator', 'test'] as const;

export const ACCEPTED: readonly Accepted[] = [
  {
    check: 'container-image-pull-policy',
    values: 'both',
    objects: ALL,
    reason:
      'A tag is a version, and a digest never changes. With `Always`, no pod starts while the registry is unavailable. `image.pullPolicy` sets it.',
  },
  {
    check: 'container-resources',
    values: 'both',
    objects: ALL,
    reason:
      'A CPU limit delays queries also while the node has idle CPUs; the requests guarantee a share. `operator.resources` and `gateway.resources` set one.',
  },
  {
    check: 'container-ephemeral-storage-request-and-limit',
    values: 'defaults',
    objects: ['gateway', 'operator'],
    reason:
      'The root filesystem is read-only. The gateway stores results in an `emptyDir` if they are in files without `gateway.persistence`; a limit would evict it. Set one by `resources` where results are elsewhere.',
  },
  {
    check: 'container-ephemeral-storage-request-and-limit',
    values: 'both',
    objects: ['test'],
    reason: 'The pod of `helm test` writes nothing and ends after two requests.',
  },
  {
    check: 'pod-networkpolicy',
    values: 'defaults',
    objects: ALL,
    reason:
      'A policy that does not know the clients would reject them. `networkPolicy.enabled` creates it; `networkPolicy.egress` restricts outgoing connections, too.',
  },
  {
    check: 'pod-probes',
    values: 'both',
    objects: ['test'],
    reason: 'The pod of `helm test` serves nothing.',
  },
];

const STORAGE = {
  requests: { cpu: '500m', memory: '512Mi', 'ephemeral-storage': '128Mi' },
  limits: { memory: '1Gi', 'ephemeral-storage': '1Gi' },
};

/** Values as for production: TLS, network policies, an image by its digest, results in an object store. */
const PRODUCTION: Combination = {
  name: 'production',
  values: {
    engine: { controllers: ['http://pinot-controller.pinot:9000'], credentialSecret: 'engine' },
    image: { digest: `sha256:${'0'.repeat(64)}` },
    operator: { resources: STORAGE },
    gateway: { kind: 'Deployment', replicas: 3, tls: { secretName: 'tls' }, resources: STORAGE },
    networkPolicy: {
      enabled: true,
      from: [{ podSelector: { matchLabels: { app: 'app' } } }],
      egress: { enabled: true },
    },
    properties: { 'olap.broker.pagination.protocol': 's3', 'olap.broker.pagination.s3.bucket': 'results' },
  },
};

interface Scored {
  readonly object_meta: { readonly name: string };
  readonly checks: readonly {
    readonly check: { readonly id: string };
    readonly grade: number;
    readonly skipped: boolean;
  }[];
}

/** Critical findings as `check of object`. */
async function criticals(kubeScore: string, manifests: string): Promise<string[]> {
  // It exits with 1 when there are critical findings, so it is asked for JSON by a shell that ignores that.
  const json = await output('sh', ['-c', '"$0" score - --output-format json || true', kubeScore], manifests);
  return (JSON.parse(json) as Scored[]).flatMap(({ object_meta: { name }, checks }) =>
    checks
      .filter(({ grade, skipped }) => grade <= CRITICAL && !skipped)
      .map(({ check }) => `${check.id} of ${name.replace(/^olap-warden-/u, '')}`),
  );
}

/** Compares the critical findings with the accepted ones. @throws {Error} that lists the differences */
export async function score(helm: string): Promise<string> {
  const kubeScore = join((await output(INSTALL, ['kube-score'])).trim(), 'kube-score');
  const lines: string[] = [];
  for (const combination of [{ name: 'defaults', values: {} }, PRODUCTION]) {
    const found = await criticals(kubeScore, await render(helm, combination));
    const accepted = ACCEPTED.filter(({ values }) => values === 'both' || values === combination.name).flatMap(
      ({ check, objects }) => objects.map((object) => `${check} of ${object}`),
    );
    const differences = [
      ...found.filter((each) => !accepted.includes(each)).map((each) => `not accepted: ${each}`),
      ...accepted.filter((each) => !found.includes(each)).map((each) => `accepted, but not found: ${each}`),
    ];
    if (differences.length > 0)
      throw new Error(
        `kube-score, values \`${combination.name}\`:\n${differences.join('\n')}\n(see tools/helm/score.ts)`,
      );
    lines.push(
      `✓ kube-score, ${combination.name}: ${found.length} critical findings, all accepted (docs/install.md)\n`,
    );
  }
  return lines.join('');
}
