import { policy, role, roleAssignment, serviceToken, withMeta } from '../../builders/resources.ts';
import { eventually } from '../operator.ts';
import { KUBECTL_TIMEOUT } from '../limits.ts';

/** The cluster of both exercises, in which an operator runs. */
export interface Hands {
  /** kubectl in the namespace. @throws when it fails */
  readonly kubectl: (...args: string[]) => Promise<string>;
  readonly apply: (...objects: object[]) => Promise<void>;
  /** Creates an object as the gateway's account does. */
  readonly createAsGateway: (object: object) => Promise<void>;
}

/** Makes an operator use all its functions, except those that depend on its settings. */
export async function exerciseOperator({ kubectl, apply, createAsGateway }: Hands): Promise<void> {
  await kubectl('wait', '--for=create', KUBECTL_TIMEOUT, 'roles.olapwarden.io/system-admin');
  // As if the gateway had ended before it wrote the hash: the operator deletes it after a minute.
  const byRest = {
    labels: { 'app.kubernetes.io/managed-by': 'olap-warden' },
    annotations: { 'olapwarden.io/created-by': 'srn2:user#ada' },
  };
  await createAsGateway(serviceToken('abandoned', {}, withMeta(byRest)));
  await apply(policy('read'), role('analysts', { policies: ['read'] }));
  await apply(serviceToken('exercised', { secretName: 'exercised-token' }));
  await kubectl('wait', '--for=jsonpath={.status.state}=Unassigned', KUBECTL_TIMEOUT, 'otoken/exercised');
  await kubectl('annotate', 'otoken', 'exercised', 'olapwarden.io/rotate-at=1');
  await kubectl('wait', '--for=jsonpath={.status.observedRotateAt}=1', KUBECTL_TIMEOUT, 'otoken/exercised');
  await kubectl('delete', 'otoken', 'exercised');
  const expired = { type: 'user-email' as const, name: 'gone@example.com', expiresAt: '2020-01-01T00:00:00Z' };
  await createAsGateway(roleAssignment('expired', { role: 'analysts', subjects: [expired] }));
  await eventually(
    () => kubectl('get', 'orolebinding', '-o', 'name'),
    (names) => !names.includes('/expired'),
  );
  for (const description of ['a', 'b']) {
    const patch = JSON.stringify({ spec: { description } });
    await kubectl('patch', 'policies.olapwarden.io', 'table-reader', '--type=merge', '-p', patch);
    const found = () => kubectl('get', 'policies.olapwarden.io', 'table-reader', '-o', 'jsonpath={.spec.description}');
    await eventually(found, (text) => text !== description);
  }
  await kubectl('patch', 'roles.olapwarden.io', 'table-reader', '--type=merge', '-p', '{"spec":{"description":"x"}}');
  await kubectl('annotate', 'chr', 'cluster', 'olapwarden.io/run-at=1', '--overwrite');
  await eventually(
    () => kubectl('get', 'otoken', '-o', 'name'),
    (names) => !names.includes('/abandoned'),
  );
}

/** A call of a gateway's REST interface that is answered 200: its answer, as JSON where it is an object. */
export type Call = <T = unknown>(method: string, path: string, body?: object) => Promise<T>;

/** Makes a gateway write everything that its REST interface can write. */
export async function exerciseGateway({ apply }: Pick<Hands, 'apply'>, call: Call): Promise<void> {
  const rbac = '/api/v1/rbac-manager';
  const srn = (kind: string, name: string): string => encodeURIComponent(`srn2:${kind}#${name}`);
  await eventually(
    () => call<{ roles: unknown[] }>('GET', `${rbac}/whoami`),
    ({ roles }) => roles.length > 0,
  );
  const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#x'] }];
  const policyDocument = { version: 'v1', statements };
  await call('POST', `${rbac}/policies`, { name: 'p', policyDocument });
  await call('PUT', `${rbac}/policies/${srn('policy', 'p')}`, { description: 'changed', policyDocument });
  await call('POST', `${rbac}/roles`, { name: 'r' });
  await call('POST', `${rbac}/roles/${srn('role', 'r')}/attach-policy`, { policySrn: 'srn2:policy#p' });
  const made = await call<{ srn: string; accessKey: string }>('POST', `${rbac}/service-tokens`, { description: 'x' });
  const people = ['ada@example.com', 'grace@example.com'].map((name) => ({ type: 'user-email' as const, name }));
  await apply(roleAssignment('by-kubectl', { role: 'r', subjects: people }));
  await eventually(
    () => call<string>('GET', `${rbac}/roles/${srn('role', 'r')}/assignments`),
    (text) => text.includes('grace@example.com'),
  );
  const alan = { subjectType: 'user-email', subject: 'alan@example.com' };
  await call('POST', `${rbac}/roles/${srn('role', 'r')}/create-assignment`, alan);
  for (const subject of ['ada@example.com', 'grace@example.com', 'alan@example.com']) {
    await call('POST', `${rbac}/roles/${srn('role', 'r')}/delete-assignment`, { subjectType: 'user-email', subject });
  }
  // A second administrator: what is left is read without a cache.
  const administrators = `${rbac}/roles/${srn('role', 'system-admin')}`;
  const token = { subjectType: 'service-token', subject: made.accessKey };
  await call('POST', `${administrators}/create-assignment`, token);
  await call('POST', `${administrators}/delete-assignment`, token);
  await call('DELETE', `${rbac}/service-tokens/${encodeURIComponent(made.srn)}`);
  await call('DELETE', `${rbac}/roles/${srn('role', 'r')}`);
  await call('DELETE', `${rbac}/policies/${srn('policy', 'p')}`);
  await call('PUT', '/clusterHealth?state=DISABLE');
  await call('PUT', '/clusterHealth?state=ENABLE');
  await call('GET', '/periodictask/run?taskName=ClusterHealthCheckTask');
}
