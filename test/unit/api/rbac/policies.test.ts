import { describe, expect, it } from 'vitest';
import { policy, role, roleAssignment, statement as allowing } from '../../../builders/resources.ts';
import { ALICE } from '../../../support/app.ts';
import { inPath, testGateway } from './gateway.ts';

const BOB = { ...ALICE, srn: 'srn2:user#bob@example.com', id: 'bob@example.com' };

const DOCUMENT = {
  version: 'v1',
  statements: [{ effect: 'allow', actions: ['Query', 'Get*'], resources: ['srn2:table#events'] }],
};
const JSON_TEXT = JSON.stringify(DOCUMENT);

describe('the roles with a policy', () => {
  it('are those that the caller may read, by name, also after a change', async () => {
    const { call, store } = await testGateway();
    store.seed(
      policy('shared'),
      policy('asks', { statements: [allowing({ actions: ['GetPolicy'], resources: ['srn2:policy#*'] })] }),
      policy('one', { statements: [allowing({ actions: ['GetRole'], resources: ['srn2:role#b'] })] }),
      role('b', { policies: ['shared'] }),
      role('a', { policies: ['other', 'shared'] }),
      role('asker', { policies: ['asks', 'one'] }),
    );
    const path = `/policies/${inPath('policy', 'shared')}/roles`;
    const names = async (from = call, at = path) =>
      (await from('GET', at)).body.map(({ name }: { name: string }) => name);
    expect(await names()).toEqual(['a', 'b']);
    expect((await call('GET', `${path}?limit=1`)).headers['link']).toContain('rel="next"');
    await call('POST', `/roles/${inPath('role', 'a')}/detach-policy`, { policySrn: 'srn2:policy#shared' });
    expect(await names()).toEqual(['b']);
    expect((await call('GET', `/policies/${inPath('policy', 'absent')}/roles`)).status).toBe(404);

    const narrow = await testGateway({ store, roles: [], principal: BOB });
    store.seed(roleAssignment('bob', { role: 'asker', subjects: [{ type: 'user-email', name: BOB.id }] }));
    await call('POST', `/roles/${inPath('role', 'a')}/attach-policy`, { policySrn: 'srn2:policy#shared' });
    expect(await names(narrow.call)).toEqual(['b']);
    store.seed(roleAssignment('bob', { role: 'b', subjects: [{ type: 'user-email', name: BOB.id }] }));
    expect((await narrow.call('GET', path)).status).toBe(403);
  });
});

describe('policies over REST', () => {
  it('creates, reads, replaces and deletes a policy', async () => {
    const { call } = await testGateway();
    const made = await call('POST', '/policies', { name: 'readers', description: 'd', policyDocumentJson: JSON_TEXT });
    expect(made).toMatchObject({
      status: 200,
      body: { srn: 'srn2:policy#readers', name: 'readers', description: 'd', policyDocument: DOCUMENT },
    });
    expect(JSON.parse(made.body.policyDocumentJson)).toEqual(DOCUMENT);
    expect((await call('POST', '/policies', { name: 'readers', policyDocument: DOCUMENT })).status).toBe(409);
    const path = `/policies/${inPath('policy', 'readers')}`;
    const other = { version: 'v1', statements: [{ resources: 'srn2:table#salaries' }] };
    const replaced = await call('PUT', path, { policyDocument: other });
    expect(replaced).toMatchObject({
      status: 200,
      body: {
        description: 'd',
        // Defaults: no effect is a deny, no actions means all, and a single resource is a list of one.
        policyDocument: { version: 'v1', statements: [{ effect: 'deny', resources: ['srn2:table#salaries'] }] },
      },
    });
    expect((await call('GET', path)).body).toEqual(replaced.body);
    expect((await call('PUT', path, { description: 'other' })).body.policyDocument).toEqual(
      replaced.body.policyDocument,
    );
    expect((await call('GET', '/policies')).body).toContainEqual({
      name: 'readers',
      srn: 'srn2:policy#readers',
      description: 'other',
    });
    expect(await call('DELETE', path)).toMatchObject({ status: 200, body: '' });
    expect((await call('GET', path)).status).toBe(404);
  });

  it.each([
    ['{', /`policyDocumentJson`: invalid JSON at line 1, column 2: /],
    ['[]', /must be an object with `version` and `statements`/],
    ['{"version":"v2","statements":[]}', /version: `v2` is not known: it must be `v1`/],
    ['{"version":"v1","statements":[]}', /statements: .*at least/],
    [
      statement({ actions: ['Quary'] }),
      /statements\[0\]\.actions\[0\]: `Quary` matches no action; did you mean `Query`/,
    ],
    [statement({ actions: ['CreateTabel*'] }), /did you mean `CreateTable`/],
    [statement({ resources: ['srn2:tabel#x'] }), /has the unknown kind `tabel`; known kinds are/],
    [statement({ resources: ['table#x'] }), /statements\[0\]\.resources\[0\]/],
    [statement({ resources: undefined }), /statements\[0\]\.resources: is required/],
    [statement({ effect: 'permit' }), /`permit` is not one of allow, deny/],
    [statement({ conditions: {} }), /`conditions` must have `rowFilters`, `columns` or both/],
    [
      statement({ conditions: { rowFilters: ['a = 1', 'a = '] } }),
      /statements\[0\]\.conditions\.rowFilters\[1\]: line 1, column 5: the text ends here/,
    ],
    [statement({ acions: ['Query'] }), /did you mean `actions`/],
    ['{"version":"v1","statements":[],"id":"x"}', /id: is not a known field/],
  ])('rejects %s', async (policyDocumentJson, message) => {
    const { call } = await testGateway();
    const { status, body } = await call('POST', '/policies', { name: 'p', policyDocumentJson });
    expect(status).toBe(400);
    expect(body.message).toMatch(message);
  });

  it('requires exactly one document', async () => {
    const { call } = await testGateway();
    const both = await call('POST', '/policies', {
      name: 'p',
      policyDocumentJson: JSON_TEXT,
      policyDocument: DOCUMENT,
    });
    expect([both.status, both.body.message]).toEqual([400, expect.stringContaining('not both')]);
    const none = await call('POST', '/policies', { name: 'p' });
    expect([none.status, none.body.message]).toEqual([400, expect.stringContaining('`policyDocumentJson` is missing')]);
  });

  it('does not delete an attached or a predefined policy', async () => {
    const { call } = await testGateway();
    await call('POST', '/policies', { name: 'readers', policyDocumentJson: JSON_TEXT });
    await call('POST', '/roles', { name: 'analysts' });
    const attach = { policySrn: 'srn2:policy#readers' };
    await call('POST', `/roles/${inPath('role', 'analysts')}/attach-policy`, attach);
    const refused = await call('DELETE', `/policies/${inPath('policy', 'readers')}`);
    expect([refused.status, refused.body.message]).toEqual([
      409,
      'policy `readers` is attached to role `analysts`: detach it first',
    ]);
    await call('POST', `/roles/${inPath('role', 'analysts')}/detach-policy`, attach);
    expect((await call('DELETE', `/policies/${inPath('policy', 'readers')}`)).status).toBe(200);
    for (const [method, body] of [
      ['PUT', { policyDocumentJson: JSON_TEXT }],
      ['DELETE', undefined],
    ] as const) {
      const answer = await call(method, `/policies/${inPath('policy', 'system-admin')}`, body);
      expect([answer.status, answer.body.message]).toEqual([403, expect.stringContaining('predefined')]);
    }
    expect((await call('POST', '/policies', { name: 'rbac-admin', policyDocument: DOCUMENT })).status).toBe(409);
  });
});

function statement(fields: object): string {
  return JSON.stringify({
    version: 'v1',
    statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'], ...fields }],
  });
}

describe('a policy that names what does not exist', () => {
  const documentOn = (...resources: string[]) => ({
    policyDocument: { version: 'v1', statements: [{ effect: 'allow', resources }] },
  });

  it('is accepted with warnings', async () => {
    const tables = { actualTables: async (names: readonly string[]) => names, tableNames: () => ['events'] };
    const { call } = await testGateway({ tables });
    const made = await call('POST', '/policies', { name: 'read', ...documentOn('srn2:table#evnets', 'srn2:role#x') });
    expect(made.status).toBe(200);
    expect(made.body.warnings).toEqual([
      '`statements[0].resources[0]`: table `evnets` does not exist or is not visible to you; did you mean `events`?',
      '`statements[0].resources[1]`: role `x` does not exist or is not visible to you',
    ]);
    const changed = await call('PUT', `/policies/${inPath('policy', 'read')}`, documentOn('srn2:table#events'));
    expect(changed.body).not.toHaveProperty('warnings');
    expect((await call('GET', `/policies/${inPath('policy', 'read')}`)).body).not.toHaveProperty('warnings');
  });

  it('is accepted without a warning about tables while the engine is unavailable', async () => {
    const tables = { actualTables: () => Promise.reject(new Error('unreachable')), tableNames: () => [] };
    const { call } = await testGateway({ tables });
    const made = await call('POST', '/policies', { name: 'read', ...documentOn('srn2:table#x') });
    expect(made.status).toBe(200);
    expect(made.body).not.toHaveProperty('warnings');
  });
});
