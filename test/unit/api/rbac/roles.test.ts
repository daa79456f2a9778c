import { describe, expect, it } from 'vitest';
import { API_VERSION } from '../../../../src/resources/meta.ts';
import { policy, role, roleAssignment, serviceToken, withMeta } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { BASE, inPath, NOW, testGateway } from './gateway.ts';

describe('roles over REST', () => {
  it('creates, reads, changes and deletes a role', async () => {
    const { call } = await testGateway();
    const made = await call('POST', '/roles', { name: 'analysts', description: 'Who reads' });
    expect(made).toMatchObject({
      status: 200,
      body: {
        srn: 'srn2:role#analysts',
        name: 'analysts',
        description: 'Who reads',
        createdBy: 'srn2:user#alice@example.com',
        lastUpdatedBy: 'srn2:user#alice@example.com',
        lastUpdatedAt: NOW.toISOString(),
      },
    });
    expect(await call('POST', '/roles', { name: 'analysts' })).toMatchObject({ status: 409 });
    const changed = await call('PUT', `/roles/${inPath('role', 'analysts')}`, { description: 'Other' });
    expect(changed).toMatchObject({ status: 200, body: { description: 'Other' } });
    expect(await call('GET', `/roles/srn2%3Arole%23analysts`)).toMatchObject({ status: 200, body: changed.body });
    expect(await call('DELETE', `/roles/${inPath('role', 'analysts')}`)).toMatchObject({ status: 200, body: '' });
    expect(await call('GET', `/roles/${inPath('role', 'analysts')}`)).toMatchObject({
      status: 404,
      body: { error: 'Not Found', message: 'there is no role `analysts`' },
    });
  });

  it('names other managers of a role, if there are any', async () => {
    const { call, store } = await testGateway();
    await call('POST', '/roles', { name: 'analysts' });
    expect((await call('GET', `/roles/${inPath('role', 'analysts')}`)).body).not.toHaveProperty('managedBy');
    store.seed({
      apiVersion: API_VERSION,
      kind: 'Role',
      metadata: {
        name: 'gitops',
        managedFields: [
          { manager: 'olap-warden', operation: 'Update' },
          { manager: 'olap-warden-operator', operation: 'Update' },
          { manager: 'kubectl-edit', operation: 'Update' },
          { manager: 'argocd-controller', operation: 'Apply' },
          { manager: 'argocd-controller', operation: 'Update' },
          { manager: 'kube-controller-manager', operation: 'Update', subresource: 'status' },
        ],
      },
      spec: { policies: [] },
    });
    expect((await call('GET', `/roles/${inPath('role', 'gitops')}`)).body).toMatchObject({
      managedBy: ['argocd-controller', 'kubectl-edit'],
    });
  });

  it('names other managers of an assignment or a service token', async () => {
    const { call, store } = await testGateway();
    const metadata = { managedFields: [{ manager: 'argocd-controller', operation: 'Apply' as const }] };
    store.seed(
      roleAssignment(
        'by-git',
        { role: 'table-reader', subjects: [{ type: 'group', name: 'data' }] },
        withMeta(metadata),
      ),
      serviceToken('by-git', {}, withMeta(metadata)),
    );
    const managed = { managedBy: ['argocd-controller'] };
    const path = `/roles/${inPath('role', 'table-reader')}/assignments`;
    expect((await call('GET', path)).body).toMatchObject([{ subject: 'data', ...managed }]);
    expect((await call('GET', '/service-tokens')).body).toMatchObject([managed]);
    await call('POST', `/roles/${inPath('role', 'health-reader')}/create-assignment`, {
      subject: 'data',
      subjectType: 'group',
    });
    const all = (await call('GET', '/assignments')).body as { role: string; managedBy?: string[] }[];
    expect(all.filter(({ managedBy }) => managedBy).map((one) => one.role)).toEqual(['table-reader']);
  });

  it('suggests a valid name', async () => {
    const { call } = await testGateway();
    const { status, body } = await call('POST', '/roles', { name: 'Data Engineers' });
    expect(status).toBe(400);
    expect(body.message).toContain('such as `data-engineers`');
  });

  it.each([
    [{}, /`name` in the body: is required/],
    [{ name: 'a', descripton: 'x' }, /did you mean `description`/],
    [{ name: 7 }, /must be a string/],
  ])('refuses %j', async (body, message) => {
    const { call } = await testGateway();
    const answer = await call('POST', '/roles', body);
    expect(answer.status).toBe(400);
    expect(answer.body.message).toMatch(message);
  });

  it('rejects a change of the name', async () => {
    const { call } = await testGateway();
    await call('POST', '/roles', { name: 'analysts' });
    const answer = await call('PUT', `/roles/${inPath('role', 'analysts')}`, { name: 'readers', description: 'x' });
    expect(answer).toMatchObject({ status: 400 });
    expect(answer.body.message).toContain('cannot be changed');
  });

  it('reports the problem in a path', async () => {
    const { call } = await testGateway();
    for (const path of ['/roles/srn2:role', '/roles/analysts', `/roles/${inPath('policy', 'x')}`]) {
      const { status, body } = await call('GET', path);
      expect([status, body.message]).toEqual([400, expect.stringContaining('`roleSrn` in the path')]);
    }
  });

  it('attaches one policy per call, idempotently', async () => {
    const { call } = await testGateway();
    await call('POST', '/roles', { name: 'analysts' });
    const path = `/roles/${inPath('role', 'analysts')}`;
    for (let i = 0; i < 2; i++) {
      expect(await call('POST', `${path}/attach-policy`, { policySrn: 'srn2:policy#table-reader' })).toMatchObject({
        status: 200,
        body: { name: 'analysts' },
      });
    }
    expect((await call('GET', `${path}/policies`)).body).toEqual([
      { name: 'table-reader', srn: 'srn2:policy#table-reader', description: 'Query and read every table.' },
    ]);
    const unknown = await call('POST', `${path}/attach-policy`, { policySrn: 'srn2:policy#nope' });
    expect([unknown.status, unknown.body.message]).toEqual([400, '`policySrn`: there is no policy `nope`']);
    const missing = await call('POST', `/roles/${inPath('role', 'nope')}/attach-policy`, {
      policySrn: 'srn2:policy#table-reader',
    });
    expect(missing.status).toBe(404);
    expect(await call('POST', `${path}/detach-policy`, { policySrn: 'srn2:policy#table-reader' })).toMatchObject({
      status: 200,
    });
    expect((await call('GET', `${path}/policies`)).body).toEqual([]);
  });

  it('creates and deletes an assignment, idempotently', async () => {
    const { call, store } = await testGateway();
    await call('POST', '/roles', { name: 'analysts' });
    const path = `/roles/${inPath('role', 'analysts')}`;
    const body = { subject: 'Ada@Example.com', subjectType: 'email' };
    const first = await call('POST', `${path}/create-assignment`, body);
    expect(first).toMatchObject({
      status: 200,
      body: { subject: 'ada@example.com', subjectType: 'user-email', createdBy: 'srn2:user#alice@example.com' },
    });
    expect((await call('POST', `${path}/create-assignment`, body)).body).toEqual(first.body);
    expect(store.list('RoleAssignment').filter(({ spec }) => spec.role === 'analysts')).toHaveLength(1);
    expect((await call('GET', `${path}/assignments`)).body).toEqual([first.body]);
    expect(await call('DELETE', path)).toMatchObject({ status: 409 });
    expect(await call('POST', `${path}/delete-assignment`, body)).toMatchObject({ status: 200 });
    expect((await call('POST', `${path}/delete-assignment`, body)).body).toEqual({
      subject: 'ada@example.com',
      subjectType: 'user-email',
    });
    expect(await call('DELETE', path)).toMatchObject({ status: 200 });
  });

  it('lists and deletes assignments that kubectl created', async () => {
    const { call, store } = await testGateway();
    await call('POST', '/roles', { name: 'analysts' });
    const path = `/roles/${inPath('role', 'analysts')}`;
    store.seed(
      roleAssignment('by-hand', {
        role: 'analysts',
        subjects: [
          { type: 'group', name: 'data' },
          { type: 'domain', name: 'example.com' },
        ],
      }),
    );
    expect((await call('GET', `${path}/assignments`)).body).toMatchObject([
      { subject: 'example.com', subjectType: 'domain', createdBy: 'unknown' },
      { subject: 'data', subjectType: 'group', createdBy: 'unknown' },
    ]);
    const made = await call('POST', `${path}/create-assignment`, { subject: 'data', subjectType: 'group' });
    expect(made.body.createdBy).toBe('unknown');
    await call('POST', `${path}/delete-assignment`, { subject: 'data', subjectType: 'group' });
    expect(store.get('RoleAssignment', 'by-hand')?.spec.subjects).toEqual([{ type: 'domain', name: 'example.com' }]);
    const refused = await call('DELETE', path);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'role `analysts` is assigned to domain `example.com`: delete the assignment first',
    ]);
    await call('POST', `${path}/delete-assignment`, { subject: 'EXAMPLE.COM', subjectType: 'domain' });
    expect(store.get('RoleAssignment', 'by-hand')).toBeUndefined();
  });

  it('is deleted with assignments that have expired, and not with others', async () => {
    const { call, store, clock } = await testGateway();
    await call('POST', '/roles', { name: 'analysts' });
    const path = `/roles/${inPath('role', 'analysts')}`;
    const assign = (subject: string, expiresAt: string) =>
      call('POST', `${path}/create-assignment`, { subject, subjectType: 'group', expiresAt });
    await assign('a', '2026-11-02T00:00:00Z');
    await assign('b', '2026-11-03T00:00:00Z');
    clock.time = Date.parse('2026-11-02T12:00:00Z');
    const refused = await call('DELETE', path);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'role `analysts` is assigned to group `b`: delete the assignment first',
    ]);
    expect(store.list('RoleAssignment').filter(({ spec }) => spec.role === 'analysts')).toHaveLength(2);
    clock.time = Date.parse('2026-11-04T00:00:00Z');
    expect((await call('DELETE', path)).status).toBe(200);
    expect(store.list('RoleAssignment').filter(({ spec }) => spec.role === 'analysts')).toEqual([]);
    expect((await call('POST', '/roles', { name: 'analysts' })).status).toBe(200);
  });

  it('names no subject to a caller who may not read them, and shows no membership', async () => {
    const { call, store } = await testGateway({ roles: ['deleter'] });
    const statements = [
      { effect: 'allow' as const, actions: ['DeleteRole', 'DeleteAssignment'], resources: ['srn2:role#*'] },
    ];
    const denies = { effect: 'deny' as const, actions: ['Query'], resources: ['srn2:table#*'] };
    const ada = { type: 'user-email' as const, name: 'ada@example.com' };
    store.seed(
      policy('deletes', { statements }),
      policy('denies', { statements: [denies] }),
      role('deleter', { policies: ['deletes'] }),
      role('analysts'),
      role('denied', { policies: ['denies'] }),
      roleAssignment('one', { role: 'analysts', subjects: [ada] }),
      roleAssignment('two', { role: 'denied', subjects: [ada] }),
    );
    const path = `/roles/${inPath('role', 'analysts')}`;
    const refused = await call('DELETE', path);
    expect(refused.body.message).toBe(
      'role `analysts` is assigned to a subject, which you may not read: delete the assignment first',
    );
    const remove = async (of: string, name: string) => {
      const sent = { subject: name, subjectType: 'user-email' };
      const { status, body } = await call('POST', `/roles/${inPath('role', of)}/delete-assignment`, sent);
      return [status, status === 200 ? Object.keys(body) : body.message.replaceAll(name, '')];
    };
    for (const of of ['analysts', 'denied'])
      expect(await remove(of, 'ada@example.com')).toEqual(await remove(of, 'nobody@example.com'));
    expect((await remove('denied', 'nobody@example.com'))[0]).toBe(403);
    expect(store.get('RoleAssignment', 'one')).toBeUndefined();
  });

  it('lists the roles of one subject, and roles and policies by name', async () => {
    const { call, store } = await testGateway();
    for (const name of ['team-a-x', 'team-a-y', 'team-b']) store.seed(role(name), policy(name));
    const ada = { type: 'user-email' as const, name: 'Ada@example.com' };
    const group = { type: 'group' as const, name: 'g' };
    store.seed(
      roleAssignment('one', { role: 'team-a-x', subjects: [ada, group] }),
      roleAssignment('two', { role: 'team-b', subjects: [group, ada] }),
    );
    const names = async (path: string) => (await call('GET', path)).body.map(({ name }: { name: string }) => name);
    for (const kind of ['roles', 'policies']) {
      expect(await names(`/${kind}?name=team-a-*`)).toEqual(['team-a-x', 'team-a-y']);
      expect(await names(`/${kind}?name=team-b`)).toEqual(['team-b']);
      const { headers } = await call('GET', `/${kind}?name=team-*&limit=2`);
      const next = /<([^>]+)>/.exec(String(headers['link']))?.[1]?.replace(BASE, '') ?? '';
      expect(await names(next)).toEqual(['team-b']);
    }
    const of = async (query: string) =>
      (await call('GET', `/assignments?${query}`)).body.map(({ role: held, subject }: Record<string, string>) => [
        held,
        subject,
      ]);
    expect(await of('subject=ada@EXAMPLE.com&subjectType=email')).toEqual([
      ['team-a-x', 'ada@example.com'],
      ['team-b', 'ada@example.com'],
    ]);
    expect(await of('subject=nobody&subjectType=group')).toEqual([]);
    expect((await call('GET', '/assignments?subject=g')).status).toBe(400);
  });

  it('lists the assignments of all roles that the caller may read', async () => {
    const { call, store } = await testGateway();
    for (const [held, name] of [
      ['table-reader', 'bob@example.com'],
      ['health-reader', 'bob@example.com'],
      ['table-reader', 'ada@example.com'],
    ] as const)
      await call('POST', `/roles/srn2:role%23${held}/create-assignment`, { subject: name, subjectType: 'user-email' });
    const all = (await call('GET', '/assignments')).body as { role: string; subject: string }[];
    expect(all.map((one) => `${one.role} ${one.subject}`)).toEqual([
      'health-reader bob@example.com',
      'system-admin alice@example.com',
      'table-reader ada@example.com',
      'table-reader bob@example.com',
    ]);
    expect(all[0]).toMatchObject({ subjectType: 'user-email', createdBy: ALICE.srn });
    const first = await call('GET', '/assignments?limit=3');
    const [, next = ''] = /<([^>]+)>/.exec(String(first.headers['link'])) ?? [];
    expect((await call('GET', next.slice(BASE.length))).body).toEqual(all.slice(3));

    store.seed(
      policy('asks', {
        statements: [{ effect: 'allow', actions: ['GetAssignment'], resources: ['srn2:role#table-reader'] }],
      }),
      role('asker', { policies: ['asks'] }),
      roleAssignment('bob-asks', { role: 'asker', subjects: [{ type: 'user-email', name: 'bob@example.com' }] }),
    );
    const other = await testGateway({
      store,
      principal: { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' },
    });
    expect((await other.call('GET', '/assignments')).body).toEqual(all.slice(2));
  });

  it('rejects changes of predefined roles', async () => {
    const { call } = await testGateway();
    const path = `/roles/${inPath('role', 'table-reader')}`;
    const answers = [
      await call('PUT', path, { description: 'x' }),
      await call('DELETE', path),
      await call('POST', `${path}/attach-policy`, { policySrn: 'srn2:policy#health-reader' }),
      await call('POST', `${path}/detach-policy`, { policySrn: 'srn2:policy#table-reader' }),
    ];
    for (const { status, body } of answers) {
      expect([status, body.message]).toEqual([403, expect.stringContaining('predefined and read-only')]);
    }
    expect((await call('GET', path)).body).toMatchObject({
      createdBy: 'platform-rbac-manager',
      lastUpdatedBy: 'platform-rbac-manager',
    });
    const assigned = await call('POST', `${path}/create-assignment`, { subject: 'a@b.c', subjectType: 'user-email' });
    expect(assigned.status).toBe(200);
  });
});
