import { readFileSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import type { AuditLog, AuditLogOptions } from '../../../../src/api/server/logs/audit.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import { tokenPrincipal } from '../../../../src/access/directory.ts';
import { responsibleFor } from '../../../../src/access/token-owner.ts';
import { roleResource } from '../../../../src/access/policy/srn.ts';
import type { RequestContext } from '../../../../src/api/server/context.ts';
import { roleAssignment, serviceToken, stored, withAnnotations } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { inPath, testGateway, type TestGateway } from './gateway.ts';

const DOCUMENT = { version: 'v1', statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#t'] }] };
const ROLE = `/roles/${inPath('role', 'r')}`;

let gateway: TestGateway;
let records: AuditRecord[];
let clock: FakeClock;
let audit: AuditLog;
afterEach(() => gateway.app.close());

async function start(
  roles: readonly string[] = ['system-admin'],
  options: Partial<AuditLogOptions> = {},
): Promise<void> {
  records = [];
  clock = new FakeClock();
  audit = validAuditLog(records, clock, options);
  gateway = await testGateway({ roles, parts: { audit } });
}

describe('the audit record of a write', () => {
  it('names both actions of a replacement of all assignments', async () => {
    await start();
    await gateway.call('POST', '/roles', { name: 'r' });
    await gateway.call('PUT', `${ROLE}/assignments`, [{ subject: 'a@x.org', subjectType: 'user-email' }]);
    await gateway.call('PUT', `${ROLE}/assignments`, []);
    expect(records.at(-1)).toMatchObject({
      action: 'CreateAssignment',
      also: [{ action: 'DeleteAssignment', resource: 'srn2:role#r' }],
      changes: [{ kind: 'RoleAssignment' }],
    });
  });

  it('has caller, address, request, resource and the difference', async () => {
    await start();
    await gateway.call('POST', '/roles', { name: 'r', description: 'first' });
    await gateway.call('POST', '/policies', { name: 'p', policyDocument: DOCUMENT });
    await gateway.call('POST', `${ROLE}/attach-policy`, { policySrn: 'srn2:policy#p' });
    await gateway.call('POST', `${ROLE}/create-assignment`, { subject: 'Ada@x.org', subjectType: 'user-email' });
    await gateway.call('PUT', ROLE, { description: 'second' });
    await gateway.call('POST', `${ROLE}/delete-assignment`, { subject: 'ada@x.org', subjectType: 'user-email' });
    expect(records.map(({ action, outcome }) => `${action} ${outcome}`)).toEqual([
      'CreateRole succeeded',
      'CreatePolicy succeeded',
      'AttachPolicy succeeded',
      'CreateAssignment succeeded',
      'UpdateRole succeeded',
      'DeleteAssignment succeeded',
    ]);
    expect(records[2]).toMatchObject({
      version: 1,
      type: 'write',
      principal: 'srn2:user#alice@example.com',
      authenticator: 'token-file',
      clientAddress: '127.0.0.1',
      method: 'POST',
      route: '/api/v1/rbac-manager/roles/:roleSrn/attach-policy',
      resource: 'srn2:role#r',
      status: 200,
      decision: 'allowed',
      statements: [{ role: 'system-admin', policy: 'system-admin', statementIndex: 0, effect: 'allow' }],
      role: 'r',
      policy: 'p',
      asked: { policySrn: 'srn2:policy#p' },
      changes: [{ kind: 'Role', name: 'r', operation: 'update', differences: [{ path: '/policies/0', after: 'p' }] }],
    });
    expect(records[3]).toMatchObject({
      role: 'r',
      subject: { type: 'user-email', name: 'Ada@x.org' },
      changes: [{ kind: 'RoleAssignment', operation: 'create' }],
    });
    expect(records[4]?.changes).toEqual([
      {
        kind: 'Role',
        name: 'r',
        operation: 'update',
        differences: [{ path: '/description', before: 'first', after: 'second' }],
      },
    ]);
    expect(records[5]?.changes).toMatchObject([{ operation: 'delete', differences: [{ path: '' }] }]);
  });

  it('has the outcome of a write that was rejected or failed', async () => {
    await start();
    await gateway.call('POST', '/roles', { name: 'r' });
    await gateway.call('POST', '/roles', { name: 'r' });
    gateway.store.beforeWrite = () => {
      throw new StoreError('unavailable', 'the API server is away');
    };
    await gateway.call('DELETE', ROLE);
    expect(records.map(({ outcome, status, message }) => [outcome, status, message])).toEqual([
      ['succeeded', 200, undefined],
      ['rejected', 409, 'role `r` exists already'],
      ['failed', 503, 'the API server is away'],
    ]);
    expect(records[2]?.changes).toEqual([]);
  });

  it('has a bounded size', async () => {
    await start();
    const statements = Array.from({ length: 500 }, (_, index) => ({
      effect: 'allow',
      description: 'x'.repeat(900),
      actions: ['Query'],
      resources: [`srn2:table#t${index}`],
    }));
    expect(
      (await gateway.call('POST', '/policies', { name: 'p', policyDocument: { version: 'v1', statements } })).status,
    ).toBe(200);
    const changed = statements.map(({ effect, actions, resources }) => {
      return { effect, description: 'y'.repeat(900), actions, resources };
    });
    await gateway.call('PUT', `/policies/${inPath('policy', 'p')}`, {
      policyDocument: { version: 'v1', statements: changed },
    });
    for (const record of records) {
      expect(JSON.stringify(record).length).toBeLessThan(64 * 1024);
      expect(record.changes?.[0]?.truncated).toBe(true);
    }
  });
});

describe('the audit record of a denied call', () => {
  it('is written once for calls that are repeated, and once more with their number', async () => {
    await start(['table-reader']);
    for (let poll = 0; poll < 50; poll++) expect((await gateway.call('GET', ROLE)).status).toBe(403);
    await gateway.call('POST', '/roles', { name: 'x' });
    expect(records.map(({ type, action, outcome, count }) => [type, action, outcome, count])).toEqual([
      ['denied', 'GetRole', 'denied', 1],
      ['denied', 'CreateRole', 'denied', 1],
    ]);
    await clock.advance(300_000);
    expect(records.slice(2).map(({ action, count, since }) => [action, count, since])).toEqual([
      ['GetRole', 49, records[0]?.since],
    ]);
    await gateway.call('GET', ROLE);
    expect(records).toHaveLength(4);
  });

  it('is recorded early, with its number, if there are more of them than are counted', async () => {
    await start(['table-reader']);
    for (let poll = 0; poll < 3; poll++) await gateway.call('GET', ROLE);
    for (let index = 0; index < 2000; index++) deny(`other-${index % 20}`, `r${index}`);
    const counted = records.filter(({ count }) => count !== 1);
    expect(counted.map(({ resource, count }) => [resource, count])).toEqual([['srn2:role#r', 2]]);
    expect(records).toHaveLength(2002);
  });

  it('is one for all further calls of a caller who fills its share, and others keep theirs', async () => {
    await start(['table-reader'], { bytesOfFile: 1 });
    for (let index = 0; index < 5000; index++) deny('hostile', `r${index}`);
    const own = records.length;
    expect(own).toBeLessThan(200);
    deny('hostile', 'r7');
    deny('other', 'r1');
    expect(records).toHaveLength(own + 1);
    await clock.advance(300_000);
    const [repeated, left, ...rest] = records.slice(own + 1).map(({ resource, count, leftOut }) => {
      return [resource, count, leftOut];
    });
    // The share is full again after some minutes, so the record of the repetition is written.
    expect([repeated, left, rest]).toEqual([
      ['srn2:role#r7', 1, undefined],
      [`srn2:role#r${own}`, 5000 - own, true],
      [],
    ]);
    deny('hostile', 'r9999');
    expect(records.at(-1)).toMatchObject({ resource: 'srn2:role#r9999', count: 1 });
  });

  it('is written at the end of the process, too', async () => {
    await start(['table-reader']);
    for (let poll = 0; poll < 3; poll++) await gateway.call('GET', ROLE);
    audit.close();
    expect(records.map(({ count }) => count)).toEqual([1, 2]);
    await clock.advance(300_000);
    expect(records).toHaveLength(2);
  });
});

describe('the share of a caller', () => {
  const LONG = 'x'.repeat(4000);
  const small = { bytesOfFile: 1 };

  it('bounds the records of refused writes, of each outcome, and says how many are left out', async () => {
    let leftOut = 0;
    await start(['rbac-admin'], { ...small, onLeftOut: () => leftOut++ });
    for (let index = 0; index < 300; index++) {
      const description = LONG + index;
      const role = `/roles/${inPath('role', `absent${index}`)}`;
      const policySrn = `srn2:policy#${LONG.slice(0, 250)}`;
      if (index % 2 === 0) await gateway.call('POST', `${role}/attach-policy`, { policySrn });
      else await gateway.call('PUT', `/policies/${inPath('policy', `p${index}`)}`, { description });
    }
    const bytes = records.reduce((sum, record) => sum + JSON.stringify(record).length, 0);
    expect(bytes).toBeLessThan(72 * 1024);
    expect(leftOut).toBe(300 - records.length);
    const written = records.length;
    await clock.advance(300_000);
    expect(records.slice(written)).toMatchObject([{ leftOut: true, count: leftOut, outcome: 'rejected' }]);
    expect(records.at(-1)).not.toHaveProperty('asked');
  });

  it('limits no change of access where there is no file that it could fill', async () => {
    await start(['system-admin'], { ...small, hasFile: false });
    for (let index = 0; index < 60; index++)
      expect((await gateway.call('POST', '/roles', { name: `r${index}`, description: LONG })).status).toBe(200);
    expect(records.filter(({ outcome }) => outcome === 'succeeded')).toHaveLength(60);
  });

  it('leaves no change of access out: what has no room is refused before it is made', async () => {
    await start(['system-admin'], small);
    const statuses: number[] = [];
    for (let index = 0; index < 60; index++) {
      statuses.push((await gateway.call('POST', '/roles', { name: `r${index}`, description: LONG })).status);
    }
    const made = statuses.filter((status) => status === 200).length;
    expect(made).toBeGreaterThan(5);
    expect(new Set(statuses)).toEqual(new Set([200, 429]));
    expect(records.filter(({ outcome }) => outcome === 'succeeded')).toHaveLength(made);
    expect(gateway.store.list('Role').filter(({ metadata }) => /^r\d/.test(metadata.name))).toHaveLength(made);
    const refused = await gateway.call('POST', '/roles', { name: 'further' });
    expect(refused.body.message).toMatch('the records of your changes would exceed the share of the audit file');
    expect(refused.headers['retry-after']).toMatch(/^[1-9]\d*$/);
    await clock.advance(3_600_000);
    expect((await gateway.call('POST', '/roles', { name: 'further' })).status).toBe(200);
  });

  it('is that of its creator where it is a service token, also through tokens that are gone', async () => {
    await start(['rbac-admin'], { ...small, responsibleFor: (caller) => responsibleFor(gateway.store, caller) });
    const by = (name: string, author: string) => {
      const labels = { 'app.kubernetes.io/managed-by': 'olap-warden' };
      gateway.store.seed(
        serviceToken(name, {}, stored({ labels }), withAnnotations({ 'olapwarden.io/created-by': author })),
      );
    };
    const names = Array.from({ length: 40 }, (_, index) => `token${index}`);
    const bytes = () => records.reduce((sum, record) => sum + JSON.stringify(record).length, 0);
    // By a user, then each by the one before it, of which every tenth is gone.
    for (const [index, name] of names.entries())
      by(name, index % 10 === 0 ? 'srn2:user#eve@example.com' : `srn2:service-token#token${index - 1}`);
    for (const name of names) for (let call = 0; call < 50; call++) denyToken(name, `r${call}-${LONG.slice(0, 400)}`);
    expect(bytes()).toBeLessThan(72 * 1024);
    for (const [index, name] of names.entries()) by(name, `srn2:service-token#gone${index}`);
    for (const name of names) for (let call = 50; call < 100; call++) denyToken(name, `r${call}-${LONG.slice(0, 400)}`);
    expect(bytes()).toBeLessThan(2 * 72 * 1024);
    deny('bob@example.com', 'r');
    expect(records.at(-1)).toMatchObject({ principal: 'srn2:user#bob@example.com' });
  });

  it('is that of who has rotated a token, and so got its secret, and not that of its creator', async () => {
    await start(['system-admin'], { ...small, responsibleFor: (caller) => responsibleFor(gateway.store, caller) });
    const { body } = await gateway.call('POST', '/service-tokens', {});
    const bob = { ...ALICE, id: 'bob@example.com', srn: 'srn2:user#bob@example.com' };
    const delegate = await testGateway({ store: gateway.store, principal: bob });
    gateway.store.seed(roleAssignment('bob', { role: 'rbac-admin', subjects: [{ type: 'user-email', name: bob.id }] }));
    const path = `/service-tokens/${inPath('service-token', body.accessKey)}/rotate`;
    expect((await delegate.call('POST', path, {})).status).toBe(200);
    await delegate.app.close();
    for (let call = 0; call < 300; call++) denyToken(body.accessKey, `r${call}-${LONG.slice(0, 400)}`);
    const written = records.length;
    deny('bob@example.com', LONG.slice(0, 400));
    expect(records).toHaveLength(written);
    deny('alice@example.com', LONG.slice(0, 400));
    expect(records).toHaveLength(written + 1);
    // A rotation by the token itself gives its secret to nobody else.
    const { uid } = gateway.store.get('ServiceToken', body.accessKey)!.metadata;
    const itself = tokenPrincipal(body.accessKey, uid);
    await gateway.manager.serviceTokens.rotate(itself, body.accessKey, 0);
    expect(gateway.store.get('ServiceToken', body.accessKey)?.status?.rotatedBy).toBe(bob.srn);
  });

  it('of refused calls is not that of changes', async () => {
    await start(['rbac-admin'], small);
    for (let index = 0; index < 300; index++) await gateway.call('GET', `/roles/x${index}`);
    for (let index = 0; index < 300; index++) deny('alice@example.com', `r${index}`);
    expect((await gateway.call('POST', '/roles', { name: 'made' })).status).toBe(200);
    expect(records.at(-1)).toMatchObject({ action: 'CreateRole', outcome: 'succeeded' });
  });
});

describe('the files', () => {
  it('are apart for administrators, for changes of access and for the rest', async () => {
    const files: string[] = [];
    const administrators = new Set(['srn2:user#root']);
    await start(['rbac-admin'], {
      isAdministrator: ({ srn }) => administrators.has(srn),
      write: ({ action, outcome }, file) => files.push(`${file} ${action} ${outcome}`),
    });
    await gateway.call('POST', '/roles', { name: 'r' });
    await gateway.call('POST', '/roles', { name: 'r' });
    await gateway.call('GET', '/who-can?action=*&resource=srn2:cluster%23*');
    deny('someone', 'r1');
    deny('root', 'r1');
    expect(files).toEqual([
      'access CreateRole succeeded',
      'calls CreateRole rejected',
      'calls GetRole denied',
      'administrators GetRole denied',
    ]);
  });

  it('have the groups of the caller, cut', async () => {
    await start();
    const groups = Array.from({ length: 30 }, (_, index) => `${index}`.padEnd(200, 'g'));
    audit.denied(callOf('many', groups), 'GetRole', roleResource('r'), DENIED);
    expect(records[0]?.groups).toHaveLength(20);
    expect(records[0]?.groups?.[0]).toHaveLength(129);
    expect(records[0]?.groupCount).toBe(30);
  });
});

const DENIED = { allowed: false, reason: 'implicitDeny', matchedStatements: [] } as const;

function callOf(user: string, groups: readonly string[] = []): RequestContext {
  return {
    id: 'x',
    method: 'GET',
    clientAddress: '127.0.0.1',
    principal: { ...ALICE, srn: `srn2:user#${user}`, id: user, groups },
    routeOptions: { url: '/x' },
  } as unknown as RequestContext;
}

/** A denied call of another caller. */
function denyToken(name: string, role: string): void {
  audit.denied({ ...callOf(name), principal: tokenPrincipal(name) }, 'GetRole', roleResource(role), DENIED);
}

function deny(user: string, role: string): void {
  audit.denied(callOf(user), 'GetRole', roleResource(role), DENIED);
}

describe('every operation that changes something', () => {
  /** Operations that change no access, no data and no setting. */
  const READS = ['simulateAccess', 'previewPolicy', 'submitQuery', 'openSession', 'endSession', 'openOidcSession'];
  /** See the tests of health and of paginated queries. */
  const ELSEWHERE = [
    ...['setClusterHealthState', 'createHealthMute', 'deleteHealthMute'],
    ...['deleteStoredResult', 'deleteCursor', 'cancelQuery'],
  ];
  const POLICY = `/policies/${inPath('policy', 'p')}`;
  const assignment = { subject: 'ada@x.org', subjectType: 'user-email' };
  type Call = [operation: string, method: 'POST' | 'PUT' | 'DELETE', path: string, body?: object];
  const CALLS: readonly Call[] = [
    ['createRole', 'POST', '/roles', { name: 'r' }],
    ['createPolicy', 'POST', '/policies', { name: 'p', policyDocument: DOCUMENT }],
    ['updateRole', 'PUT', ROLE, { description: 'x' }],
    ['updatePolicy', 'PUT', POLICY, { description: 'x' }],
    ['attachPolicy', 'POST', `${ROLE}/attach-policy`, { policySrn: 'srn2:policy#p' }],
    ['detachPolicy', 'POST', `${ROLE}/detach-policy`, { policySrn: 'srn2:policy#p' }],
    ['createAssignment', 'POST', `${ROLE}/create-assignment`, assignment],
    ['deleteAssignment', 'POST', `${ROLE}/delete-assignment`, assignment],
    ['replaceAssignments', 'PUT', `${ROLE}/assignments`, []],
    ['deletePolicy', 'DELETE', POLICY],
    ['deleteRole', 'DELETE', ROLE],
    ['createServiceToken', 'POST', '/service-tokens', {}],
    ['rotateServiceToken', 'POST', `/service-tokens/${inPath('service-token', 'none')}/rotate`, {}],
    ['deleteServiceToken', 'DELETE', `/service-tokens/${inPath('service-token', 'none')}`],
  ];

  it('is in this list', () => {
    const { paths } = JSON.parse(readFileSync(new URL('../../../../openapi.json', import.meta.url), 'utf8')) as {
      paths: Record<string, Record<string, { operationId: string }>>;
    };
    const writes = Object.values(paths).flatMap((methods) =>
      Object.entries(methods).flatMap(([method, { operationId }]) => (method === 'get' ? [] : [operationId])),
    );
    const known = [...CALLS.map(([operation]) => operation), ...READS, ...ELSEWHERE];
    expect(writes.sort()).toEqual(known.sort());
  });

  it('has one record with its outcome, whether it is allowed, rejected or denied', async () => {
    for (const roles of [['system-admin'], []]) {
      await start(roles);
      for (const [operation, method, path, body] of [...CALLS, ...CALLS.slice(0, 2)]) {
        const before = records.length;
        const { status } = await gateway.call(method, path, body);
        const written = records.slice(before).map((record) => [record.status, record.principal]);
        // A denied call is recorded once for caller, action and resource.
        const repeated =
          status === 403 && records.slice(0, before).some(({ action }) => action === actionOf(operation));
        expect([operation, written]).toEqual([operation, repeated ? [] : [[status, 'srn2:user#alice@example.com']]]);
      }
      await gateway.app.close();
    }
  });

  function actionOf(operation: string): string {
    if (operation === 'replaceAssignments') return 'GetAssignment';
    if (operation === 'rotateServiceToken') return 'GetServiceToken';
    return operation.charAt(0).toUpperCase() + operation.slice(1);
  }
});
