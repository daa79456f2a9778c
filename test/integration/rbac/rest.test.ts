import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { tableResource } from '../../../src/access/policy/srn.ts';
import type { Principal } from '../../../src/access/principal.ts';
import { API_VERSION } from '../../../src/resources/meta.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { sharedControlPlane } from '../../support/control-plane.ts';
import { folderDeployment, inPath, kubernetesDeployment, soon, type Deployment, type Gateway } from './gateways.ts';

const ADA: Principal = {
  kind: 'user',
  srn: 'srn2:user#ada@example.com',
  id: 'ada@example.com',
  groups: [],
  domain: undefined,
  authenticator: 'test',
};
const DOCUMENT = '{"version":"v1","statements":[{"effect":"allow","actions":"Query","resources":"srn2:table#events"}]}';
const DENY = '{"version":"v1","statements":[{"effect":"deny","actions":["Query"],"resources":["*"]}]}';

describe.each([
  ['a folder', folderDeployment],
  ['a kube-apiserver', kubernetesDeployment],
] as const)('the RBAC manager over %s', (_name, start) => {
  let deployment: Deployment;
  let first: Gateway;
  let others: readonly Gateway[];

  beforeAll(async () => {
    deployment = await start();
    [first, ...others] = deployment.gateways as [Gateway, ...Gateway[]];
  });
  afterAll(() => deployment?.stop());

  const mayQuery = ({ directory }: Gateway): boolean =>
    directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('events')));
  const role = `/roles/${inPath('role', 'analysts')}`;
  const policy = `/policies/${inPath('policy', 'readers')}`;

  it('serves the whole table of calls, and enforces each change in the next call', async () => {
    const ok = async (...args: Parameters<Gateway['call']>): Promise<unknown> => {
      const answer = await first.call(...args);
      expect([answer.status, answer.body]).toEqual([200, answer.body]);
      return answer.body;
    };
    await ok('POST', '/roles', { name: 'analysts', description: 'Who reads' });
    expect(await ok('GET', role)).toMatchObject({ name: 'analysts', createdBy: 'srn2:user#alice@example.com' });
    await ok('PUT', role, { description: 'Who reads events' });
    expect(await ok('GET', '/roles')).toContainEqual(expect.objectContaining({ description: 'Who reads events' }));
    await ok('POST', '/policies', { name: 'readers', policyDocumentJson: DOCUMENT });
    await ok('POST', `${role}/attach-policy`, { policySrn: 'srn2:policy#readers' });
    expect(await ok('GET', `${role}/policies`)).toMatchObject([{ name: 'readers' }]);
    expect(mayQuery(first)).toBe(false);
    const subject = { subject: 'Ada@Example.com', subjectType: 'user-email' };
    await ok('POST', `${role}/create-assignment`, subject);
    expect(mayQuery(first)).toBe(true);
    for (const other of others) {
      await soon(async () => {
        expect(mayQuery(other)).toBe(true);
        expect((await other.call('GET', `${role}/assignments`)).body).toMatchObject([{ subject: 'ada@example.com' }]);
      });
    }
    expect(await ok('GET', `${role}/assignments`)).toMatchObject([{ subject: 'ada@example.com' }]);
    await ok('PUT', policy, { policyDocumentJson: DENY });
    expect(mayQuery(first)).toBe(false);
    await ok('PUT', policy, { policyDocumentJson: DOCUMENT });
    expect(mayQuery(first)).toBe(true);
    expect(await ok('GET', policy)).toMatchObject({ policyDocument: { version: 'v1' } });
    expect(await ok('GET', '/policies')).toContainEqual(expect.objectContaining({ name: 'readers' }));
    expect(
      await ok('POST', '/simulate-access', {
        subjectTypeToSubject: { 'user-email': 'ada@example.com' },
        action: 'Query',
        resourceSrn2String: 'srn2:table#events',
      }),
    ).toMatchObject({ decision: 'ALLOW', matchedStatements: [{ role: 'analysts', policy: 'readers' }] });
    expect(await ok('GET', '/whoami')).toMatchObject({ srn: 'srn2:user#alice@example.com' });
    expect((await first.call('DELETE', policy)).status).toBe(409);
    expect((await first.call('DELETE', role)).status).toBe(409);
    await ok('POST', `${role}/delete-assignment`, subject);
    expect(mayQuery(first)).toBe(false);
    await ok('POST', `${role}/detach-policy`, { policySrn: 'srn2:policy#readers' });
    await ok('DELETE', policy);
    await ok('DELETE', role);
    expect((await first.call('GET', role)).status).toBe(404);
    expect((await first.call('GET', policy)).status).toBe(404);
    for (const other of others) {
      await soon(async () => expect((await other.call('GET', role)).status).toBe(404));
    }
  });

  it('enforces and returns conditions as they were written', async () => {
    const conditions = { rowFilters: ['owner = ${subject.user}'], columns: { mask: { mail: "'hidden'" } } };
    const statement = { effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'], conditions };
    const policyDocument = { version: 'v1', statements: [statement] };
    const steps = [
      await first.call('POST', '/policies', { name: 'part', policyDocument }),
      await first.call('POST', '/roles', { name: 'part' }),
      await first.call('POST', `/roles/${inPath('role', 'part')}/attach-policy`, { policySrn: 'srn2:policy#part' }),
      await first.call('POST', `/roles/${inPath('role', 'part')}/create-assignment`, {
        subject: 'ada@example.com',
        subjectType: 'user-email',
      }),
    ];
    expect(steps.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
    for (const gateway of deployment.gateways) {
      const { directory } = gateway;
      await soon(async () => {
        const { body } = await gateway.call('GET', `/policies/${inPath('policy', 'part')}`);
        expect(body.policyDocument).toEqual(policyDocument);
        const reading = directory.reading(ADA, tableResource(tableNameOf('events')));
        expect(reading.allowed && reading.conditions?.key).toContain('ada@example.com');
      });
      expect(directory.isAllowed(ADA, 'Query', tableResource(tableNameOf('events')))).toBe(false);
    }
    const simulated = await first.call('POST', '/simulate-access', {
      subjectTypeToSubject: { 'user-email': 'ada@example.com' },
      action: 'Query',
      resourceSrn2String: 'srn2:table#events',
    });
    expect(simulated.body).toMatchObject({
      decision: 'CONDITIONAL',
      conditions: {
        rowFilters: [['owner = ${subject.user}']],
        columns: { mask: { mail: "'hidden'" } },
        values: { 'subject.user': ['ada@example.com'] },
      },
    });
    const whoCan = await first.call('GET', '/who-can?action=Query&resource=srn2%3Atable%23events');
    expect(whoCan.body.subjects).toContainEqual(expect.objectContaining({ role: 'part', conditional: true }));
    const refused = await first.call('PUT', `/policies/${inPath('policy', 'part')}`, {
      policyDocument: { statements: [{ ...statement, conditions: { rowFilters: ['owner = '] } }] },
    });
    expect([refused.status, refused.body.message]).toEqual([400, expect.stringContaining('line 1, column 9')]);
  });

  it('rotates a service token, whose former secret ends at every gateway', async () => {
    const another = others.at(-1) ?? first;
    const { body } = await first.call('POST', '/service-tokens', { description: 'rotated' });
    const path = `/service-tokens/${inPath('service-token', body.accessKey)}`;
    await first.call('POST', `/roles/${inPath('role', 'table-reader')}/create-assignment`, {
      subject: body.accessKey,
      subjectType: 'service-token',
    });
    const outcomes = async (secrets: readonly string[]) => {
      const results = secrets.map((token) => another.serviceTokens.authenticate({ scheme: 'bearer', token }));
      return (await Promise.all(results)).map(({ outcome }) => outcome);
    };
    const rotated = await first.call('POST', `${path}/rotate`, { graceSeconds: 3600 });
    expect(rotated.status).toBe(200);
    const secrets = [body.bearerToken, rotated.body.bearerToken];
    await soon(async () => expect(await outcomes(secrets)).toEqual(['authenticated', 'authenticated']));
    expect((await another.call('GET', path)).body.formerSecrets).toEqual(rotated.body.formerSecrets);
    const last = await another.call('POST', `${path}/rotate`, { graceSeconds: 0 });
    const all = [...secrets, last.body.bearerToken];
    await soon(async () => expect(await outcomes(all)).toEqual(['rejected', 'rejected', 'authenticated']));
    expect((await first.call('DELETE', path)).status).toBe(200);
  });

  it('creates, lists, accepts and revokes service tokens', async () => {
    const { body } = await first.call('POST', '/service-tokens', { description: 'ci' });
    const credential = { scheme: 'bearer', token: body.bearerToken } as const;
    const path = `/service-tokens/${inPath('service-token', body.accessKey)}`;
    expect((await first.serviceTokens.authenticate(credential)).outcome).toBe('rejected');
    await first.call('POST', `/roles/${inPath('role', 'table-reader')}/create-assignment`, {
      subject: body.accessKey,
      subjectType: 'service-token',
    });
    for (const { serviceTokens } of deployment.gateways) {
      await soon(async () => expect((await serviceTokens.authenticate(credential)).outcome).toBe('authenticated'));
    }
    expect((await first.call('GET', path)).body).toMatchObject({ status: 'ACTIVE' });
    expect((await first.call('GET', '/service-tokens')).body).toHaveLength(1);
    expect((await first.call('DELETE', path)).status).toBe(200);
    expect((await first.serviceTokens.authenticate(credential)).outcome).toBe('rejected');
    for (const { serviceTokens } of others) {
      await soon(async () => expect((await serviceTokens.authenticate(credential)).outcome).toBe('rejected'));
    }
  });

  it('names kubectl as a manager of a role', async () => {
    if (!('namespace' in deployment)) {
      // A folder of manifests has no field managers.
      await first.call('POST', '/roles', { name: 'by-hand' });
      expect((await first.call('GET', `/roles/${inPath('role', 'by-hand')}`)).body).not.toHaveProperty('managedBy');
      return;
    }
    const plane = await sharedControlPlane();
    const manifest = { apiVersion: API_VERSION, kind: 'Role', metadata: { name: 'from-git' }, spec: {} };
    await plane.mustKubectl(['apply', '--server-side', '-n', String(deployment.namespace), '-f', '-'], {
      input: JSON.stringify(manifest),
    });
    const managed = `/roles/${inPath('role', 'from-git')}`;
    await soon(async () => expect((await first.call('GET', managed)).body).toMatchObject({ managedBy: ['kubectl'] }));
    await first.call('PUT', managed, { description: 'edited here' });
    expect((await first.call('GET', managed)).body).toMatchObject({
      managedBy: ['kubectl'],
      description: 'edited here',
    });
    await first.call('POST', '/roles', { name: 'made-here' });
    expect((await first.call('GET', `/roles/${inPath('role', 'made-here')}`)).body).not.toHaveProperty('managedBy');
  });

  it('returns errors that match the OpenAPI document, too', async () => {
    const statuses = [
      await first.call('POST', '/roles', { name: 'Data Engineers' }),
      await first.call('POST', '/roles', {}),
      await first.call('POST', '/policies', { name: 'p', policyDocumentJson: '{}' }),
      await first.call('GET', `/roles/${inPath('role', 'nobody')}`),
      await first.call('GET', '/roles/nobody'),
      await first.call('PUT', `/roles/${inPath('role', 'system-admin')}`, { description: 'x' }),
      await first.call('POST', '/roles', { name: 'system-admin' }),
      await first.call('POST', '/simulate-access', { subjectTypeToSubject: {} }),
      await first.call('POST', '/service-tokens', { expiresAt: '2020-01-01T00:00:00Z' }),
    ].map(({ status }) => status);
    expect(statuses).toEqual([400, 400, 400, 404, 400, 403, 409, 400, 400]);
  });
});
