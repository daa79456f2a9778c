import { afterEach, describe, expect, it } from 'vitest';
import type { Statement } from '../../../../src/resources/policy.ts';
import { policy, role } from '../../../builders/resources.ts';
import { BASE, inPath, testGateway, type TestGateway } from './gateway.ts';

const DOCUMENT = { version: 'v1', statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#t'] }] };
const OTHER = { version: 'v1', statements: [{ effect: 'deny', actions: ['Query'], resources: ['srn2:table#t'] }] };
const ROLE = `/roles/${inPath('role', 'r')}`;
const POLICY = `/policies/${inPath('policy', 'p')}`;

let gateway: TestGateway;
afterEach(() => gateway.app.close());

async function start(): Promise<void> {
  gateway = await testGateway();
  await gateway.call('POST', '/roles', { name: 'r', description: 'first' });
  await gateway.call('POST', '/policies', { name: 'p', policyDocument: DOCUMENT });
}

async function send(method: 'GET' | 'PUT' | 'POST' | 'DELETE', path: string, headers: object, body?: object) {
  const payload = body === undefined ? {} : { payload: body };
  return gateway.app.inject({ method, url: BASE + path, headers: { ...headers }, ...payload });
}

const etagOf = async (path: string): Promise<string> => String((await send('GET', path, {})).headers['etag']);

describe('ETag', () => {
  it('is the quoted resource version of the object, in the responses to reads and writes', async () => {
    await start();
    const version = () => `"${gateway.store.get('Role', 'r')?.metadata.resourceVersion}"`;
    expect(await etagOf(ROLE)).toBe(version());
    const put = await send('PUT', ROLE, {}, { description: 'second' });
    expect(put.headers['etag']).toBe(version());
    expect(put.json()).not.toHaveProperty('version');
    const attached = await send('POST', `${ROLE}/attach-policy`, {}, { policySrn: 'srn2:policy#p' });
    expect(attached.headers['etag']).toBe(version());
    const created = await send('POST', '/service-tokens', {}, {});
    const token = created.json<{ srn: string }>().srn.replace('#', '%23');
    expect(await etagOf(`/service-tokens/${token}`)).toBe(created.headers['etag']);
    const list = (await send('GET', '/roles', {})).json<object[]>();
    expect(list.every((role) => !('version' in role))).toBe(true);
  });

  it('is 304 for If-None-Match with the current version, weak or in a list', async () => {
    await start();
    const etag = await etagOf(ROLE);
    for (const text of [etag, `W/${etag}`, `"0", ${etag}`, '*']) {
      const answer = await send('GET', ROLE, { 'if-none-match': text });
      expect([answer.statusCode, answer.body, answer.headers['etag']]).toEqual([304, '', etag]);
    }
    expect((await send('GET', ROLE, { 'if-none-match': '"0"' })).statusCode).toBe(200);
  });
});

describe('If-Match', () => {
  it('is compared after the right of the caller', async () => {
    gateway = await testGateway({ roles: ['rbac-admin'] });
    const [wide, limit] = [
      { effect: 'allow', actions: ['GetSize'] },
      { effect: 'deny', actions: ['Query'] },
    ].map((part) => ({ ...part, resources: ['srn2:table#t'] }) as Statement);
    gateway.store.seed(
      policy('p', { statements: [] }),
      policy('wide', { statements: [wide!] }),
      policy('limit', { statements: [limit!] }),
      role('r', { policies: ['limit'] }),
    );
    for (const [method, path, body] of [
      ['PUT', POLICY, { policyDocument: DOCUMENT }],
      ['POST', `${ROLE}/attach-policy`, { policySrn: 'srn2:policy#wide' }],
      ['POST', `${ROLE}/detach-policy`, { policySrn: 'srn2:policy#limit' }],
    ] as const) {
      const refused = await send(method, path, { 'if-match': '"other"' }, body);
      expect([path, refused.statusCode, refused.headers['etag']]).toEqual([path, 403, undefined]);
    }
    expect((await send('PUT', ROLE, { 'if-match': '"other"' }, { description: 'x' })).statusCode).toBe(412);
  });

  it('lets one of two editors change a policy, and gives the other the current version', async () => {
    await start();
    const etag = await etagOf(POLICY);
    const first = await send('PUT', POLICY, { 'if-match': etag }, { policyDocument: OTHER });
    expect(first.statusCode).toBe(200);
    const second = await send('PUT', POLICY, { 'if-match': etag }, { description: 'lost' });
    expect([second.statusCode, second.headers['etag']]).toEqual([412, first.headers['etag']]);
    expect(second.json<{ message: string }>().message).toContain(first.headers['etag']);
    const third = await send('PUT', POLICY, { 'if-match': `"0", ${second.headers['etag']}` }, { description: 'kept' });
    expect(third.statusCode).toBe(200);
    expect((await gateway.call('GET', POLICY)).body).toMatchObject({ description: 'kept', policyDocument: OTHER });
  });

  it.each([
    ['DELETE', ROLE, undefined],
    ['PUT', ROLE, { description: 'x' }],
    ['POST', `${ROLE}/attach-policy`, { policySrn: 'srn2:policy#p' }],
    ['POST', `${ROLE}/detach-policy`, { policySrn: 'srn2:policy#p' }],
    ['DELETE', POLICY, undefined],
  ] as const)('with an old version prevents %s %s', async (method, path, body) => {
    await start();
    const before = gateway.store.truth('Role').length + gateway.store.truth('Policy').length;
    expect((await send(method, path, { 'if-match': '"1"' }, body)).statusCode).toBe(412);
    // A weak tag never matches.
    const weak = `W/${await etagOf(path.replace(/\/(attach|detach)-policy$/, ''))}`;
    expect((await send(method, path, { 'if-match': weak }, body)).statusCode).toBe(412);
    expect(gateway.store.truth('Role').length + gateway.store.truth('Policy').length).toBe(before);
    expect((await send(method, path, { 'if-match': '*' }, body)).statusCode).toBe(200);
  });

  it('prevents the deletion of a changed service token', async () => {
    await start();
    const token = (await send('POST', '/service-tokens', {}, {})).json<{ srn: string }>().srn.replace('#', '%23');
    expect((await send('DELETE', `/service-tokens/${token}`, { 'if-match': '"1"' })).statusCode).toBe(412);
    const etag = await etagOf(`/service-tokens/${token}`);
    expect((await send('DELETE', `/service-tokens/${token}`, { 'if-match': etag })).statusCode).toBe(200);
  });

  it.each(['1', '"1', '', '"1",', '"1" "2"', 'W/1', '"a\tb"', ',"1"'])('is 400 for %j', async (text) => {
    await start();
    expect((await send('PUT', ROLE, { 'if-match': text }, { description: 'x' })).statusCode).toBe(400);
  });

  it('is 400 where it would have no effect', async () => {
    await start();
    expect((await send('POST', '/service-tokens', { 'if-match': '*' }, {})).statusCode).toBe(400);
    expect((await send('POST', '/roles', { 'if-match': '*' }, { name: 'x' })).statusCode).toBe(400);
  });
});

describe('PUT of what GET returned', () => {
  it.each([ROLE, POLICY])('changes nothing: %s', async (path) => {
    await start();
    const { body } = await gateway.call('GET', path);
    const answer = await send('PUT', path, { 'if-match': await etagOf(path) }, body);
    expect(answer.statusCode).toBe(200);
    const { lastUpdatedAt: _at, ...rest } = body;
    expect(answer.json()).toMatchObject(rest);
  });

  it.each([
    ['policyDocument', { policyDocument: OTHER }],
    ['policyDocumentJson', { policyDocumentJson: JSON.stringify(OTHER) }],
  ])('with another %s takes that one', async (_field, change) => {
    await start();
    const { body } = await gateway.call('GET', POLICY);
    expect((await send('PUT', POLICY, {}, { ...body, ...change })).json()).toMatchObject({ policyDocument: OTHER });
  });

  it('is 400 for two different documents, another srn and another name', async () => {
    await start();
    const { body } = await gateway.call('GET', POLICY);
    const third = { version: 'v1', statements: [{ effect: 'deny', resources: ['*'] }] };
    const changes = [
      { policyDocument: OTHER, policyDocumentJson: JSON.stringify(third) },
      { srn: 'srn2:policy#other' },
      { name: 'other' },
      { unknown: 1 },
    ];
    for (const change of changes) expect((await send('PUT', POLICY, {}, { ...body, ...change })).statusCode).toBe(400);
  });
});

describe('DELETE with `Content-Type: application/json` and no body', () => {
  it('has the same response as without the header', async () => {
    await start();
    const headers = { 'content-type': 'application/json' };
    expect((await send('DELETE', POLICY, headers)).statusCode).toBe(200);
    expect((await send('DELETE', POLICY, { ...headers, 'content-length': '0' })).statusCode).toBe(404);
    expect((await send('PUT', ROLE, headers)).statusCode).toBe(400);
  });
});
