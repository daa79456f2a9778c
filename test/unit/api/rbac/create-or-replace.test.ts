import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { policy, role } from '../../../builders/resources.ts';
import { MemoryStore, SharedBackend } from '../../access/memory-store.ts';
import { BASE, inPath, testGateway, type TestGateway } from './gateway.ts';

const DOCUMENT = { version: 'v1', statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#t'] }] };
const OTHER = { version: 'v1', statements: [{ effect: 'deny', actions: ['Query'], resources: ['srn2:table#t'] }] };
const ROLE = `/roles/${inPath('role', 'r')}`;
const POLICY = `/policies/${inPath('policy', 'p')}`;
const RESOURCES = [
  ['role', ROLE, { description: 'Reads t' }, { description: 'Reads all' }],
  ['policy', POLICY, { description: 'Reads t', policyDocument: DOCUMENT }, { policyDocument: OTHER }],
] as const;

let gateway: TestGateway;
afterEach(() => gateway.app.close());

async function put(path: string, body: object, headers: object = {}, at: TestGateway = gateway) {
  const answer = await at.app.inject({ method: 'PUT', url: BASE + path, headers: { ...headers }, payload: body });
  return { status: answer.statusCode, body: answer.json(), etag: answer.headers['etag'] };
}

describe.each(RESOURCES)('PUT of a %s', (kind, path, body, changed) => {
  beforeEach(async () => {
    gateway = await testGateway();
  });

  it('creates it with 201, then leaves it as it is with 200, and changes it with 200', async () => {
    const created = await put(path, body);
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject(body);
    const again = await put(path, body);
    expect(again).toMatchObject({ status: 200, etag: created.etag, body: created.body });
    const after = await put(path, changed);
    expect(after.status).toBe(200);
    expect(after.body).toMatchObject(changed);
    expect(after.etag).not.toBe(created.etag);
  });

  it('accepts the body of a GET for a resource that was deleted', async () => {
    await put(path, body);
    const read = (await gateway.call('GET', path)).body;
    expect((await gateway.call('DELETE', path)).status).toBe(200);
    const restored = await put(path, read);
    expect(restored.status).toBe(201);
    expect(restored.body).toMatchObject(body);
  });

  it('is 400 for another name than that of the path', async () => {
    expect((await put(path, { ...body, name: 'other' })).status).toBe(400);
    expect((await put(path, { ...body, srn: `srn2:${kind}#other` })).status).toBe(400);
    expect((await gateway.call('GET', path)).status).toBe(404);
  });

  it('with If-None-Match: * creates only, and with If-Match changes only', async () => {
    expect((await put(path, body, { 'if-match': '*' })).status).toBe(404);
    expect((await put(path, body, { 'if-none-match': '*' })).status).toBe(201);
    const second = await put(path, changed, { 'if-none-match': '*' });
    expect([second.status, second.body.message]).toEqual([412, expect.stringContaining('exists already')]);
    expect((await gateway.call('GET', path)).body).toMatchObject(body);
    expect((await put(path, body, { 'if-none-match': '"1"' })).status).toBe(400);
    expect((await put(path, body, { 'if-none-match': '*', 'if-match': '*' })).status).toBe(400);
  });

  it('by several programs at once, at gateways that have not seen each other, is never 409', async () => {
    const backend = new SharedBackend();
    const first = await testGateway({ store: new MemoryStore(backend) });
    const second = await testGateway({ store: new MemoryStore(backend) });
    await new Promise(setImmediate);
    for (const document of [body, changed]) {
      const answers = await Promise.all([first, second, first, second].map((at) => put(path, document, {}, at)));
      expect(answers.map(({ status }) => status).filter((status) => status !== 200 && status !== 201)).toEqual([]);
      expect(answers.filter(({ status }) => status === 201)).toHaveLength(document === body ? 1 : 0);
    }
    await first.app.close();
    await second.app.close();
  });

  it('is 403 for a predefined one', async () => {
    const predefined = await put(`/${kind === 'role' ? 'roles' : 'policies'}/${inPath(kind, 'table-reader')}`, body);
    expect(predefined.status).toBe(403);
  });
});

describe('the rights of a PUT', () => {
  const RESOURCE = { role: 'Role', policy: 'Policy' } as const;

  /** The statuses of a PUT of a new and of an existing resource, for a caller with these actions. */
  async function statuses(kind: 'role' | 'policy', actions: readonly string[]) {
    gateway = await testGateway({ roles: ['own'] });
    const resources = ['srn2:role#*', 'srn2:policy#*'];
    const allowed = actions.length === 0 ? ['GetRole'] : [...actions];
    gateway.store.seed(
      policy('own', {
        statements: [
          { effect: 'allow', actions: allowed, resources },
          { effect: 'allow', actions: ['Query'], resources: ['srn2:table#t'] },
        ],
      }),
      role('own', { policies: ['own'] }),
      role('there', { description: 'x' }),
      policy('there', { statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#x'] }] }),
    );
    const list = kind === 'role' ? 'roles' : 'policies';
    const body = kind === 'role' ? {} : { policyDocument: DOCUMENT };
    const answers = [];
    for (const name of ['new', 'there']) answers.push(await put(`/${list}/${inPath(kind, name)}`, body));
    return answers;
  }

  it.each(['role', 'policy'] as const)('of a %s are those of what it does', async (kind) => {
    const [create, update] = [`Create${RESOURCE[kind]}`, `Update${RESOURCE[kind]}`];
    const of = async (...actions: string[]) => {
      const answers = await statuses(kind, actions);
      await gateway.app.close();
      return answers.map(({ status }) => status);
    };
    expect(await of(create)).toEqual([201, 403]);
    expect(await of(update)).toEqual([404, 200]);
    expect(await of(create, update)).toEqual([201, 200]);
  });

  it('say nothing of existence to a caller without any', async () => {
    for (const kind of ['role', 'policy'] as const) {
      const [created, changed] = await statuses(kind, []);
      expect([created!.status, changed!.status]).toEqual([403, 403]);
      expect(created!.body.message.replace('new', 'there')).toBe(changed!.body.message);
      await gateway.app.close();
    }
  });

  it('are contained: a new policy gives what its author holds', async () => {
    await statuses('policy', ['CreatePolicy']);
    const wide = { version: 'v1', statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] }] };
    expect((await put(POLICY, { policyDocument: wide })).status).toBe(403);
    expect((await put(POLICY, { policyDocument: DOCUMENT })).status).toBe(201);
  });
});
