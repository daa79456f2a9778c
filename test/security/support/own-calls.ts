import type { RoledGateway } from './gateway.ts';

/** A valid request for a route; made for each caller, so that no caller sees the effect of another one. */
export interface OwnCall {
  /** Route as in the OpenAPI document, or of a route that it hides. */
  readonly route: string;
  readonly path: string;
  readonly body?: unknown;
  /** The response shows only what the caller may see. */
  readonly filtered?: true;
}

/** Names of objects that exist for one caller's turn, and of which it is not the author. */
interface Objects {
  readonly role: string;
  readonly policy: string;
  /** Name of a role and of a policy that nothing refers to. */
  readonly spare: string;
  readonly token: string;
  readonly requestId: string;
  /** A second result. */
  readonly cursor: string;
}

const RBAC = '/api/v1/rbac-manager';
/** Within what `rbac-admin` holds: for a grant that the caller lacks, every role but `system-admin` gets 403. */
const STATEMENTS = [{ effect: 'allow', actions: ['GetRole'], resources: ['srn2:role#shared'] }];
export const MEMBER = { subject: 'ada@example.com', subjectType: 'user-email' };
const SQL = { sql: 'SELECT city FROM orders LIMIT 2' };

/** @param turn makes names unique */
export async function createObjects(gateway: RoledGateway, turn: number): Promise<Objects> {
  const names = { role: `secret-role-${turn}`, policy: `secret-policy-${turn}`, spare: `secret-spare-${turn}` };
  const policyDocument = { version: 'v1', statements: STATEMENTS };
  await manage(gateway, `${RBAC}/policies`, { name: names.policy, policyDocument });
  await manage(gateway, `${RBAC}/roles`, { name: names.role, description: 'For one turn.' });
  const role = `${RBAC}/roles/srn2:role%23${names.role}`;
  await manage(gateway, `${role}/attach-policy`, { policySrn: `srn2:policy#${names.policy}` });
  await manage(gateway, `${role}/create-assignment`, MEMBER);
  await manage(gateway, `${RBAC}/policies`, { name: names.spare, policyDocument });
  await manage(gateway, `${RBAC}/roles`, { name: names.spare, description: 'Unused.' });
  const token = await manage(gateway, `${RBAC}/service-tokens`, { description: 'For one turn.' });
  const { requestId = '' } = await manage(gateway, '/query/sql?doPaginate=true&numRows=1', SQL);
  const { requestId: cursor = '' } = await manage(gateway, '/query/sql?doPaginate=true&numRows=1', SQL);
  return { ...names, cursor, token: token['accessKey'] ?? '', requestId };
}

async function manage(gateway: RoledGateway, path: string, body: unknown): Promise<Record<string, string>> {
  const answer = await gateway.service.call('POST', path, body);
  if (answer.status !== 200) throw new Error(`POST ${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as Record<string, string>;
}

/** @param turn makes the names of what a call creates unique */
export function ownCalls({ role, policy, spare, token, requestId, cursor }: Objects, turn: number): OwnCall[] {
  const oneRole = `${RBAC}/roles/srn2:role%23${role}`;
  const onePolicy = `${RBAC}/policies/srn2:policy%23${policy}`;
  const oneToken = `${RBAC}/service-tokens/srn2:service-token%23${token}`;
  const ofRole = `${RBAC}/roles/{roleSrn}`;
  const ofPolicy = `${RBAC}/policies/{policySrn}`;
  const ofToken = `${RBAC}/service-tokens/{tokenSrn}`;
  const policySrn = `srn2:policy#${policy}`;
  const code = { code: 'c', codeVerifier: 'v'.repeat(43), nonce: 'n', redirectUri: 'http://127.0.0.1/ui/signed-in' };
  const question = {
    subjectTypeToSubject: { 'user-email': 'ada@example.com' },
    resourceSrn2String: 'srn2:table#orders',
    action: 'Query',
  };
  const of = (method: string, route: string, path = route, body?: unknown): OwnCall => ({
    route: `${method} ${route}`,
    path,
    ...(body !== undefined && { body }),
  });
  const filtered = (call: OwnCall): OwnCall => ({ ...call, filtered: true });
  const tomorrow = new Date(Date.now() + 86_400_000).toISOString();
  const document = { version: 'v1', statements: STATEMENTS };
  return [
    of('GET', '/'),
    of('GET', '/docs'),
    of('GET', '/docs/style.css'),
    of('GET', '/openapi.json'),
    of('GET', '/ui'),
    of('GET', '/ui/*', '/ui/roles'),
    of('GET', '/ui/assets/*', '/ui/assets/app.js'),
    of('GET', '/ui/session'),
    of('POST', '/ui/session'),
    of('DELETE', '/ui/session'),
    of('GET', '/ui/session/methods'),
    of('POST', '/ui/session/oidc', undefined, code),
    of('GET', '/api/v1/gateway'),
    of('GET', '/query/gateway'),
    of('POST', '/query/sql', undefined, SQL),
    of('GET', '/query/sql', `/query/sql?sql=${encodeURIComponent(SQL.sql)}`),
    of('GET', '/query', `/query?sql=${encodeURIComponent(SQL.sql)}`),
    of('GET', '/sql', `/sql?sql=${encodeURIComponent(SQL.sql)}`),
    of('POST', '/query/sql?doPaginate=true', undefined, SQL),
    of('POST', '/query/sql?doPaginate=true&async=true', undefined, SQL),
    of('GET', '/query/{requestId}/results?format=csv', `/query/${requestId}/results?format=csv`),
    of('GET', '/query/{requestId}/results?links=true', `/query/${requestId}/results?links=true`),
    of('GET', '/query/{requestId}/results', `/query/${requestId}/results?offset=0&numRows=1`),
    of('GET', '/query/{requestId}/metadata', `/query/${requestId}/metadata`),
    of('GET', '/query/{requestId}', `/query/${requestId}`),
    of('DELETE', '/query/{requestId}', `/query/${requestId}`),
    filtered(of('GET', '/query/mine')),
    filtered(of('GET', '/query/resultStore')),
    of('GET', '/query/resultStore/usage'),
    of('DELETE', '/query/resultStore/{requestId}', `/query/resultStore/${requestId}`),
    filtered(of('GET', '/responseStore')),
    of('GET', '/responseStore/{requestId}', `/responseStore/${cursor}`),
    of('GET', '/responseStore/{requestId}/results', `/responseStore/${cursor}/results?offset=0&numRows=1`),
    of('DELETE', '/responseStore/{requestId}', `/responseStore/${cursor}`),
    of('GET', '/clusterHealth'),
    of('PUT', '/clusterHealth', '/clusterHealth?state=ENABLE'),
    of('GET', '/clusterHealth/list'),
    of('GET', '/clusterHealth/history'),
    of('GET', '/clusterHealth/mutes'),
    of('POST', '/clusterHealth/mutes', undefined, { entity: 'orders', reason: 'Made.', until: tomorrow }),
    of('DELETE', '/clusterHealth/mutes/{muteId}', '/clusterHealth/mutes/no-such-mute'),
    of('GET', '/periodictask/names'),
    of('GET', '/periodictask/run', '/periodictask/run?taskName=ClusterHealthCheckTask'),
    of('GET', '/docs/checks'),
    of('GET', '/docs/checks/{check}', '/docs/checks/SEGMENT_COUNT_CHECK'),
    of('GET', `${RBAC}/whoami`),
    filtered(of('GET', `${RBAC}/roles`)),
    of('POST', `${RBAC}/roles`, undefined, { name: `made-${turn}`, description: 'Made.' }),
    of('GET', ofRole, oneRole),
    of('PUT', ofRole, oneRole, { description: 'Changed.' }),
    of('GET', `${ofRole}/policies`, `${oneRole}/policies`),
    of('POST', `${ofRole}/detach-policy`, `${oneRole}/detach-policy`, { policySrn }),
    of('POST', `${ofRole}/attach-policy`, `${oneRole}/attach-policy`, { policySrn }),
    of('GET', `${ofRole}/assignments`, `${oneRole}/assignments`),
    of('PUT', `${ofRole}/assignments`, `${oneRole}/assignments`, [MEMBER]),
    of('POST', `${ofRole}/create-assignment`, `${oneRole}/create-assignment`, {
      ...MEMBER,
      subject: 'bob@example.com',
    }),
    of('POST', `${ofRole}/delete-assignment`, `${oneRole}/delete-assignment`, MEMBER),
    filtered(of('GET', `${RBAC}/assignments`)),
    filtered(of('GET', `${RBAC}/policies`)),
    of('POST', `${RBAC}/policies`, undefined, { name: `made-${turn}`, policyDocument: document }),
    of('GET', ofPolicy, onePolicy),
    of('PUT', ofPolicy, onePolicy, { policyDocument: document }),
    of('GET', `${ofPolicy}/roles`, `${onePolicy}/roles`),
    of('DELETE', ofRole, `${RBAC}/roles/srn2:role%23${spare}`),
    of('DELETE', ofPolicy, `${RBAC}/policies/srn2:policy%23${spare}`),
    of('POST', `${RBAC}/service-tokens`, undefined, { description: 'Made.' }),
    filtered(of('GET', `${RBAC}/service-tokens`)),
    of('GET', ofToken, oneToken),
    of('POST', `${ofToken}/rotate`, `${oneToken}/rotate`, {}),
    of('DELETE', ofToken, oneToken),
    of('POST', `${RBAC}/simulate-access`, undefined, question),
    of('POST', `${RBAC}/preview-policy`, undefined, { policyDocument: document }),
    of('GET', `${RBAC}/who-can`, `${RBAC}/who-can?action=Query&resource=${encodeURIComponent('srn2:table#orders')}`),
    filtered(of('GET', `${RBAC}/access-review`)),
    of('GET', '/api/v1/*', '/api/v1/no-such-path'),
    of('GET', '/docs/*', '/docs/no-such-path'),
  ];
}
