import { policy, role, roleAssignment, serviceToken } from '../../test/builders/resources.ts';
import type { ControlPlane } from '../../test/support/control-plane.ts';
import { rawRequests, type RawRequests } from '../../test/support/kubernetes/raw-requests.ts';
import { NAMESPACE } from './pods.ts';

const BASE = `/apis/olapwarden.io/v1beta1/namespaces/${NAMESPACE}`;
const MERGE = 'application/merge-patch+json';
const NAME = 'admission-cost';

/** Milliseconds of CPU of the API server for one request, by what it does, such as `delete of a role`. */
export type AdmissionCosts = ReadonlyMap<string, number>;

/** In an order in which each refers to what exists, and is referred to when it is deleted. */
const KINDS = [
  ['a policy', 'policies', (name: string) => policy(name)],
  ['a role', 'roles', (name: string) => role(name, { policies: [name] })],
  ['an assignment', 'roleassignments', (name: string) => roleAssignment(name, { role: name })],
  [
    'a service token',
    'servicetokens',
    (name: string) => serviceToken(name, { expiresAt: '2030-01-01T00:00:00Z', secretName: name }),
  ],
] as const;

/** What changes is what admission policies look at: subjects, the policies of a role, an expiry. */
const CHANGES: Readonly<Record<(typeof KINDS)[number][1], object>> = {
  policies: { spec: { statements: [{ effect: 'allow', actions: ['GetSize'], resources: ['srn2:table#other'] }] } },
  roles: { spec: { policies: [] } },
  roleassignments: { spec: { subjects: [{ type: 'user-email', name: 'other@example.com' }] } },
  servicetokens: { spec: { expiresAt: '2031-01-01T00:00:00Z' } },
};

/** Writes `count` objects of each kind, one after the other, as a cluster administrator. */
export async function admissionCosts(plane: ControlPlane, count: number): Promise<AdmissionCosts> {
  const requests = rawRequests(plane.kubeconfigPath, NAMESPACE);
  const costs = new Map<string, number>();
  const measure = async (what: string, send: (name: string) => ReturnType<RawRequests['send']>): Promise<void> => {
    const before = await cpuMsOfApiServer(plane);
    for (let index = 0; index < count; index++) {
      const { ok, message } = await send(`${NAME}-${index}`);
      if (!ok) throw new Error(`${what}: ${message}`);
    }
    costs.set(what, ((await cpuMsOfApiServer(plane)) - before) / count);
  };
  try {
    for (const [kind, plural, make] of KINDS)
      await measure(`creation of ${kind}`, (name) => requests.send('POST', `${BASE}/${plural}`, make(name)));
    for (const [kind, plural] of KINDS)
      await measure(`change of ${kind}`, (name) =>
        requests.send('PATCH', `${BASE}/${plural}/${name}`, CHANGES[plural], MERGE),
      );
    for (const [kind, plural] of KINDS)
      await measure(`deletion of ${kind}`, (name) => requests.send('DELETE', `${BASE}/${plural}/${name}`));
  } finally {
    await requests.close();
  }
  return costs;
}

/** User and system time of the API server's process since its start. */
async function cpuMsOfApiServer(plane: ControlPlane): Promise<number> {
  const { stdout } = await plane.mustKubectl(['get', '--raw', '/metrics']);
  const seconds = Number(/^process_cpu_seconds_total (\S+)$/m.exec(stdout)?.[1]);
  if (!Number.isFinite(seconds)) throw new Error('the API server has no metric process_cpu_seconds_total');
  return seconds * 1000;
}
