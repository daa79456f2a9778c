import { afterEach, beforeEach, expect, it } from 'vitest';
import { tokenPrincipal } from '../../../../src/access/directory.ts';
import { policy, role, roleAssignment, serviceToken, withAnnotations } from '../../../builders/resources.ts';
import { testGateway, type TestGateway } from './gateway.ts';

let gateway: TestGateway;
afterEach(() => gateway.app.close());

beforeEach(async () => {
  gateway = await testGateway();
  const by = (author: string) =>
    withAnnotations<ReturnType<typeof serviceToken>>({ 'olapwarden.io/created-by': author });
  gateway.store.seed(
    serviceToken('one', { description: 'Nightly report' }, by('srn2:user#ada@example.com')),
    serviceToken('two', { description: 'nightly load' }, by('srn2:user#bob@example.com')),
    serviceToken('three', { description: 'Superset' }, by('srn2:user#ada@example.com')),
  );
});

it.each([
  ['description=nightly*', ['one', 'two']],
  ['createdBy=srn2:user%23ada@example.com', ['one', 'three']],
  ['description=NIGHTLY*&createdBy=*ada*', ['one']],
  ['name=t*', ['three', 'two']],
  ['description=nothing', []],
])('the list of service tokens is searched by %s', async (query, names) => {
  const { status, body } = await gateway.call('GET', `/service-tokens?${query}`);
  expect(status).toBe(200);
  expect(body.map(({ srn }: { srn: string }) => srn)).toEqual(names.map((name) => `srn2:service-token#${name}`));
});

it('the pages of a search keep it in their links', async () => {
  const first = await gateway.call('GET', '/service-tokens?description=nightly*&limit=1');
  const [, next] = /<\/api\/v1\/rbac-manager([^>]+)>; rel="next"/.exec(String(first.headers['link'])) ?? [];
  const second = await gateway.call('GET', next!);
  expect([...first.body, ...second.body].map(({ srn }) => srn)).toEqual([
    'srn2:service-token#one',
    'srn2:service-token#two',
  ]);
  expect(second.headers).not.toHaveProperty('link');
});

it('a service token shows the roles whose assignments its reader may read, and that there are others', async () => {
  const token = [{ type: 'service-token' as const, name: 'one' }];
  gateway.store.seed(
    role('shown'),
    role('hidden'),
    roleAssignment('shown', { role: 'shown', subjects: token }),
    roleAssignment('hidden', { role: 'hidden', subjects: token }),
    policy('own', {
      statements: [
        { effect: 'allow', actions: ['GetServiceToken'], resources: ['srn2:service-token#*'] },
        { effect: 'allow', actions: ['GetAssignment'], resources: ['srn2:role#shown'] },
      ],
    }),
    role('own', { policies: ['own'] }),
    roleAssignment('own', { role: 'own', subjects: [{ type: 'service-token', name: 'robot' }] }),
  );
  const reader = await testGateway({ store: gateway.store, principal: tokenPrincipal('robot') });
  const { body } = await reader.call('GET', '/service-tokens/srn2:service-token%23one');
  expect(body).toMatchObject({ roles: [{ name: 'shown' }], rolesOmitted: true, status: 'ACTIVE' });
  const list = await reader.call('GET', '/service-tokens?name=one');
  expect(JSON.stringify(list.body)).not.toContain('hidden');
  const all = await gateway.call('GET', '/service-tokens/srn2:service-token%23one');
  expect(all.body.roles).toHaveLength(2);
  expect(all.body).not.toHaveProperty('rolesOmitted');
  await reader.app.close();
});
