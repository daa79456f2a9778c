import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GROUP } from '../../../src/resources/meta.ts';
import { customResourceDefinition } from '../../../src/resources/crd.ts';
import { CUSTOM_KINDS } from '../../../src/resources/kinds.ts';
import { isTime, TIME_PATTERN } from '../../../src/resources/time.ts';
import { validateResource } from '../../../src/resources/validate.ts';
import { roleAssignment, serviceToken } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { rawRequests, type RawRequests } from '../../support/kubernetes/raw-requests.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';

const NAMESPACE = 'olap';
const DATES = ['2030-01-31', '2030-02-29', '2032-02-29', '2030-02-30', '2030-04-31', '2030-13-01', '2030-00-10'];
const MORE_DATES = ['2030-1-1', '0000-01-01', '0001-01-01', '0999-12-31', '1000-01-01', '9998-12-31', '9999-12-31'];
const OTHER_DATES = [
  '10000-01-01',
  '+02030-01-31',
  '-2030-01-31',
  '20300131',
  '２030-01-31',
  '2030/01/31',
  '2030-W05',
  '',
];
const CLOCKS = ['00:00:00', '23:59:59', '23:59:60', '24:00:00', '00:60:00', '0:00:00', '00:00', '00:00:00,5'];
const FRACTIONS = ['00:00:00.5', '00:00:00.', '00:00:00x5', '12:30:59.123456789', '12:30:59.1234567890', '00:00:00.٥'];
const ZONES = [
  'Z',
  'z',
  '',
  '+00:00',
  '-00:00',
  '+23:59',
  '-23:59',
  '+24:00',
  '-24:00',
  '-00:99',
  '+0100',
  '+1:00',
  '+01',
  ' Z',
];
const SEPARATORS = ['T', 't', ' ', '_', ''];
/** Of each part all values, beside usual others; and each date with each zone. */
const TEXTS = Array.from(
  new Set([
    ...[...DATES, ...MORE_DATES, ...OTHER_DATES].flatMap((date) => ZONES.map((zone) => `${date}T00:00:00${zone}`)),
    ...[...CLOCKS, ...FRACTIONS].flatMap((clock) => ZONES.map((zone) => `2030-01-31T${clock}${zone}`)),
    ...SEPARATORS.flatMap((separator) => CLOCKS.map((clock) => `2030-01-31${separator}${clock}Z`)),
    ...['9999-12-31T23:59:59Z', '9999-12-31T23:59:59-01:00', '9998-12-31T23:59:59-23:59', '1000-01-01T00:00:00+23:59'],
    ...[
      'now',
      'null',
      '0',
      'Z',
      ' 2030-01-31T00:00:00Z',
      '2030-01-31T00:00:00Z ',
      '2030-01-31T00:00:00Z\n',
      'Jan 31, 2030',
    ],
  ]),
);
/** A time that the API server accepts by itself, and JavaScript and CEL cannot read. */
const UNREADABLE = '2030-01-31T00:00:00,5Z';
const TOKENS = `/apis/${GROUP}/v1beta1/namespaces/${NAMESPACE}/servicetokens`;

// Its own control plane, because the definitions and the rules are cluster-scoped.
let api: ControlPlane;
let admin: RawRequests;
let operator: RunningOperator | undefined;

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  await api.mustKubectl(['apply', '--server-side', '-f', '-'], { input: JSON.stringify(withoutGrammar()) });
  await api.mustKubectl(['wait', '--for=condition=Established', KUBECTL_TIMEOUT, 'crd', '--all']);
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  const subjects = [
    { type: 'user-email' as const, name: 'ada@example.com', expiresAt: '2020-01-31T00:00:00+24:00' },
    { type: 'user-email' as const, name: 'bob@example.com' },
  ];
  await apply([
    serviceToken('odd', { expiresAt: UNREADABLE, secretName: 'odd-token' }),
    serviceToken('leaving', { expiresAt: UNREADABLE }),
    roleAssignment('odd', { subjects: [subjects[0]!] }),
    roleAssignment('partly-odd', { subjects }),
  ]);
  await api.applyCrds();
  const kubeconfig = await api.serviceAccountKubeconfig(NAMESPACE, 'olap-warden-operator');
  await applyManifests(api);
  admin = rawRequests(api.kubeconfigPath, NAMESPACE);
  operator = runOperator(kubeconfig, NAMESPACE);
});
afterAll(async () => {
  await operator?.stop();
  await admin?.close();
  await api?.stop();
});

/** The definitions as they were before the grammar of times. */
function withoutGrammar(): object {
  const items = CUSTOM_KINDS.map((kind) => customResourceDefinition(kind));
  const text = JSON.stringify({ apiVersion: 'v1', kind: 'List', items });
  return JSON.parse(text.replaceAll(`,"pattern":${JSON.stringify(TIME_PATTERN)}`, '')) as object;
}

/** As soon as the kinds are served. */
async function apply(objects: readonly object[]): Promise<void> {
  const input = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects });
  const { stderr } = await eventually(
    () => api.kubectl(['-n', NAMESPACE, 'apply', '-f', '-'], { input }),
    ({ code }) => code === 0,
  );
  expect(stderr).toBe('');
}

/** The texts for which the API server and this program differ, or give another time. */
async function inTwentyFives(check: (text: string) => Promise<string | undefined>): Promise<string[]> {
  const found: (string | undefined)[] = [];
  for (let start = 0; start < TEXTS.length; start += 25)
    found.push(...(await Promise.all(TEXTS.slice(start, start + 25).map(check))));
  return found.filter((difference) => difference !== undefined);
}

describe('one grammar of times', () => {
  it('is tried with enough texts, valid and invalid', () => {
    expect(TEXTS.length).toBeGreaterThan(500);
    const valid = TEXTS.filter(isTime);
    expect(valid.length).toBeGreaterThan(30);
    expect(valid.filter((text) => Number.isNaN(Date.parse(text)))).toEqual([]);
  });

  it('is that of the API server, of the validation here and of isTime()', async () => {
    // The API server uses a new definition some seconds after it is stored.
    await eventually(
      () => admin.send('POST', `${TOKENS}?dryRun=All`, serviceToken('tried', { expiresAt: UNREADABLE })),
      ({ status }) => status === 422,
    );
    const differences = await inTwentyFives(async (expiresAt) => {
      const object = serviceToken('tried', { expiresAt });
      const { ok, status } = await admin.send('POST', `${TOKENS}?dryRun=All`, object);
      if (!ok && status !== 422) throw new Error(`status ${status} for ${JSON.stringify(expiresAt)}`);
      const here = [validateResource('ServiceToken', object).ok, isTime(expiresAt)];
      return here.every((answer) => answer === ok) ? undefined : JSON.stringify([expiresAt, ok, ...here]);
    });
    expect(differences).toEqual([]);
  });

  it('is one that CEL reads, as the same times', async () => {
    const name = 'reads-times';
    const matchConstraints = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': NAMESPACE } },
      resourceRules: [{ apiGroups: [''], apiVersions: ['v1'], operations: ['CREATE'], resources: ['configmaps'] }],
    };
    const expression = 'int(timestamp(object.data.text)) == int(object.data.seconds)';
    const policies = '/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies';
    for (const [kind, path, spec] of [
      ['ValidatingAdmissionPolicy', policies, { matchConstraints, validations: [{ expression }] }],
      [
        'ValidatingAdmissionPolicyBinding',
        `${policies.slice(0, -3)}ybindings`,
        { policyName: name, validationActions: ['Deny'] },
      ],
    ] as const) {
      const object = { apiVersion: 'admissionregistration.k8s.io/v1', kind, metadata: { name }, spec };
      expect(await admin.send('POST', path, object)).toMatchObject({ ok: true });
    }
    const compare = (text: string, seconds: number) =>
      admin.send('POST', `/api/v1/namespaces/${NAMESPACE}/configmaps?dryRun=All`, {
        apiVersion: 'v1',
        kind: 'ConfigMap',
        metadata: { name: 'time' },
        data: { text, seconds: String(seconds) },
      });
    await eventually(
      () => compare('2030-01-31T00:00:00Z', 0),
      ({ ok }) => !ok,
    );
    const differences = await inTwentyFives(async (text) => {
      if (!isTime(text)) return undefined;
      const { ok, message } = await compare(text, Math.floor(Date.parse(text) / 1000));
      return ok ? undefined : `${text}: ${message}`;
    });
    expect(differences).toEqual([]);
  });
});

describe('a time that was stored before its grammar was checked', () => {
  const reasonOf = async (resource: string, name: string): Promise<string> =>
    (
      await api.kubectl([
        '-n',
        NAMESPACE,
        'get',
        `${resource}.${GROUP}`,
        name,
        '-o',
        'jsonpath={.status.conditions[?(@.type=="Ready")].reason}',
      ])
    ).stdout;

  it.each([
    ['servicetokens', 'odd'],
    ['roleassignments', 'odd'],
    ['roleassignments', 'partly-odd'],
  ])('deletes nothing, and is named in the condition (%s %s)', async (resource, name) => {
    await eventually(
      () => reasonOf(resource, name),
      (reason) => reason === 'InvalidExpiry',
    );
    const { stdout } = await api.mustKubectl(['-n', NAMESPACE, 'get', `${resource}.${GROUP}`, name, '-o', 'json']);
    const { spec } = JSON.parse(stdout) as { spec: { expiresAt?: string; subjects?: unknown[] } };
    expect(spec.expiresAt ?? spec.subjects?.length).toBe(
      resource === 'servicetokens' ? UNREADABLE : name === 'odd' ? 1 : 2,
    );
  });

  it('hinders neither a label, nor a deletion in the foreground, nor a correction', async () => {
    const token = (name: string, ...more: string[]) =>
      api.mustKubectl(['-n', NAMESPACE, ...more.slice(0, 1), `servicetokens.${GROUP}`, name, ...more.slice(1)]);
    await token('odd', 'label', 'team=data');
    await token('leaving', 'delete', '--cascade=foreground', KUBECTL_TIMEOUT);
    await token('odd', 'patch', '--type=merge', '-p', '{"spec":{"expiresAt":"2030-01-31T00:00:00Z"}}');
    await eventually(
      () => reasonOf('servicetokens', 'odd'),
      (reason) => reason === 'Unassigned',
    );
  });
});
