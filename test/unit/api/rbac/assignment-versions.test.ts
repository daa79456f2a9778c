import { afterEach, describe, expect, it } from 'vitest';
import { policy, role, roleAssignment } from '../../../builders/resources.ts';
import { BASE, inPath, NOW, testGateway, type TestGateway } from './gateway.ts';

const ROLE = `/roles/${inPath('role', 'r')}`;
const PATH = `${ROLE}/assignments`;
const ada = { subject: 'ada@example.com', subjectType: 'user-email' };
const group = { subject: 'g', subjectType: 'group' };

let gateway: TestGateway;
afterEach(() => gateway.app.close());

async function start(): Promise<void> {
  gateway = await testGateway();
  gateway.store.seed(role('r'));
  await gateway.call('POST', `${ROLE}/create-assignment`, ada);
}

async function send(method: 'GET' | 'PUT' | 'POST', path: string, headers: object, body?: object) {
  const payload = body === undefined ? {} : { payload: body };
  return gateway.app.inject({ method, url: BASE + path, headers: { ...headers }, ...payload });
}

const etag = async (): Promise<string> => String((await send('GET', PATH, {})).headers['etag']);
const subjects = async (): Promise<string[]> =>
  (await gateway.call('GET', PATH)).body.map(({ subject }: { subject: string }) => subject);

describe('the assignments of a role', () => {
  it('have a version that changes with subjects and expiry, and with nothing else', async () => {
    await start();
    const first = await etag();
    await gateway.call('PUT', ROLE, { description: 'other' });
    await gateway.call('POST', `${ROLE}/create-assignment`, ada);
    expect(await etag()).toBe(first);
    await gateway.call('POST', `${ROLE}/create-assignment`, { ...ada, expiresAt: '2027-01-01T00:00:00Z' });
    const second = await etag();
    await gateway.call('POST', `${ROLE}/create-assignment`, group);
    expect(new Set([first, second, await etag()]).size).toBe(3);
  });

  it('accept by PUT what GET returned, also of subjects that have expired', async () => {
    await start();
    const expired = { type: 'group' as const, name: 'old', expiresAt: new Date(NOW.getTime() - 1000).toISOString() };
    gateway.store.seed(roleAssignment('by-hand', { role: 'r', subjects: [expired] }));
    const before = gateway.store.truth('RoleAssignment');
    const { body } = await gateway.call('GET', PATH);
    const answer = await send('PUT', PATH, { 'if-match': await etag() }, body);
    expect([answer.statusCode, answer.json(), answer.headers['etag']]).toEqual([200, body, await etag()]);
    expect(gateway.store.truth('RoleAssignment')).toEqual(before);
  });

  it('are replaced: others are assigned, given another expiry or removed', async () => {
    await start();
    await gateway.call('POST', `${ROLE}/create-assignment`, group);
    const body = [
      { ...group, expiresAt: '2027-01-01T00:00:00Z' },
      { subject: 'Example.COM', subjectType: 'domain' },
    ];
    const answer = await send('PUT', PATH, {}, body);
    expect(answer.json()).toMatchObject([
      { subject: 'example.com', expiresAt: null },
      { subject: 'g', expiresAt: '2027-01-01T00:00:00Z' },
    ]);
    expect(await subjects()).toEqual(['example.com', 'g']);
  });

  it('let one of two editors change them, and give the other the current version', async () => {
    await start();
    const read = await etag();
    const first = await send('PUT', PATH, { 'if-match': read }, [ada, group]);
    expect(first.statusCode).toBe(200);
    for (const [method, path, body] of [
      ['PUT', PATH, [ada]],
      ['POST', `${ROLE}/create-assignment`, { ...group, subject: 'h' }],
      ['POST', `${ROLE}/delete-assignment`, ada],
    ] as const) {
      const lost = await send(method, path, { 'if-match': read }, body);
      expect([lost.statusCode, lost.headers['etag']]).toEqual([412, first.headers['etag']]);
      const weak = await send(method, path, { 'if-match': `W/${await etag()}` }, body);
      expect(weak.statusCode).toBe(412);
    }
    expect(await subjects()).toEqual(['g', 'ada@example.com']);
    const removed = await send('POST', `${ROLE}/delete-assignment`, { 'if-match': await etag() }, ada);
    expect(removed.statusCode).toBe(200);
    expect((await send('PUT', PATH, { 'if-match': '*' }, [])).json()).toEqual([]);
  });

  it('are not those of a new role with the name', async () => {
    await start();
    await send('PUT', PATH, {}, []);
    const old = await etag();
    await gateway.call('DELETE', ROLE);
    await gateway.call('POST', '/roles', { name: 'r' });
    expect((await send('PUT', PATH, { 'if-match': old }, [ada])).statusCode).toBe(412);
  });

  it.each([
    [400, 'has user-email `ada@example.com` twice', [ada, { ...ada, subject: 'ADA@example.com' }]],
    [400, 'at most 100', Array.from({ length: 101 }, (_, at) => ({ ...group, subject: `g${at}` }))],
    [400, 'must be in the future', [{ ...ada, expiresAt: '2020-01-01T00:00:00Z' }]],
    [400, 'unknown', [{ ...ada, unknown: 1 }]],
    [400, 'service token', [{ subject: 'none', subjectType: 'service-token' }]],
  ])('are refused with %i: %s', async (status, message, body) => {
    await start();
    const answer = await send('PUT', PATH, {}, body);
    expect([answer.statusCode, answer.json<{ message: string }>().message]).toEqual([
      status,
      expect.stringContaining(message),
    ]);
    expect(await subjects()).toEqual(['ada@example.com']);
  });

  it('need the rights to assign and to take away, and containment', async () => {
    gateway = await testGateway({ roles: ['rbac-admin'] });
    gateway.store.seed(role('r', { policies: ['cluster-admin'] }));
    expect((await send('PUT', PATH, {}, [ada])).statusCode).toBe(403);
    expect((await send('PUT', `/roles/${inPath('role', 'none')}/assignments`, {}, [ada])).statusCode).toBe(404);
    gateway = await testGateway({ roles: [] });
    gateway.store.seed(role('r'));
    expect((await send('PUT', PATH, {}, [])).statusCode).toBe(403);
  });

  it.each([
    ['PUT', PATH, [ada, group]],
    ['PUT', PATH, []],
    ['POST', `${ROLE}/create-assignment`, group],
    ['POST', `${ROLE}/delete-assignment`, ada],
  ] as const)('keep their version when %s %s %j is refused', async (method, path, body) => {
    gateway = await testGateway({ roles: ['rbac-admin'] });
    gateway.store.seed(
      policy('wide', { statements: [{ effect: 'allow', actions: ['DeleteTable'], resources: ['srn2:table#*'] }] }),
      policy('limit', { statements: [{ effect: 'deny', actions: ['Query'], resources: ['srn2:table#*'] }] }),
      role('r', { policies: ['wide', 'limit'] }),
      roleAssignment('of-ada', { role: 'r', subjects: [{ type: 'user-email', name: ada.subject }] }),
    );
    const read = await etag();
    const before = gateway.store.truth('Role');
    // Also with a version that is out of date: the right is checked first.
    for (const tag of [read, '"other"', '*']) {
      const refused = await send(method, path, { 'if-match': tag }, body);
      expect([tag, refused.statusCode, refused.headers['etag']]).toEqual([tag, 403, undefined]);
    }
    expect(gateway.store.truth('Role')).toEqual(before);
    expect(await etag()).toBe(read);
  });

  it('are replaced completely or not at all where a right is missing', async () => {
    gateway = await testGateway({ roles: ['rbac-admin'] });
    gateway.store.seed(
      policy('limit', { statements: [{ effect: 'deny', actions: ['Query'], resources: ['srn2:table#*'] }] }),
      role('r', { policies: ['limit'] }),
      roleAssignment('of-ada', { role: 'r', subjects: [{ type: 'user-email', name: ada.subject }] }),
    );
    // The group may be assigned, but removing ada lifts a deny.
    expect((await send('PUT', PATH, {}, [group])).statusCode).toBe(403);
    expect(await subjects()).toEqual(['ada@example.com']);
  });
});
