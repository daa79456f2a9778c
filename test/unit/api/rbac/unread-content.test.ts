import { afterEach, describe, expect, it } from 'vitest';
import type { Statement } from '../../../../src/resources/policy.ts';
import { policy, role, roleAssignment, serviceToken } from '../../../builders/resources.ts';
import { hashSecretKey } from '../../../../src/access/service-token.ts';
import { inPath, testGateway, type Answer, type TestGateway } from './gateway.ts';

// What a caller that may write a resource, and not read it, can find out about its content by what is refused and what is not.

let gateway: TestGateway;
afterEach(() => gateway.app.close());

const allow = (action: string, ...resources: string[]): Statement => ({
  effect: 'allow',
  actions: [action],
  resources,
});
const deny = (action: string, ...resources: string[]): Statement => ({ effect: 'deny', actions: [action], resources });
const STORED = [allow('Query', 'srn2:table#secret'), deny('Query', 'srn2:table#denied')];
/** It can never match; an earlier version has stored it. */
const NEVER = allow('Query', 'srn2:table#secret_OFFLINE');
const OTHER = allow('Query', 'srn2:table#other');
const EVERYTHING = ['srn2:role#*', 'srn2:policy#*', 'srn2:service-token#*', 'srn2:cluster#*'];
const CONDITIONS = { rowFilters: ['missing = 1'] };

/** @param stored statements of the policy that the caller may not read; the caller may do these actions, and nothing to tables */
async function start(actions: readonly string[], stored: readonly Statement[] = STORED): Promise<void> {
  gateway = await testGateway({
    roles: ['writer'],
    tables: { actualTables: async (names) => names, tableNames: () => ['secret'] },
    schemas: { columnsOf: async () => new Set(['known']) },
  });
  gateway.store.seed(
    policy('hidden', { statements: [...stored] }),
    role('has-it', { policies: ['hidden'] }),
    role('has-not', { policies: [] }),
    policy('writer', { statements: [{ effect: 'allow', actions: [...actions], resources: EVERYTHING }] }),
    role('writer', { policies: ['writer'] }),
  );
}

const put = (body: object, headers?: object): Promise<Answer> =>
  send('PUT', '/policies/srn2:policy%23hidden', body, headers);

async function send(
  method: 'GET' | 'PUT' | 'POST' | 'DELETE',
  path: string,
  body?: object,
  headers = {},
): Promise<Answer> {
  const answer = await gateway.app.inject({
    method,
    url: `/api/v1/rbac-manager${path}`,
    headers,
    ...(body === undefined ? {} : { payload: body }),
  });
  return {
    status: answer.statusCode,
    body: answer.body === '' ? '' : JSON.parse(answer.body),
    headers: answer.headers,
  };
}

/** The outcome, without the names of the request. */
const outcome = ({ status, body, headers }: Answer, ...names: string[]) => {
  const text = JSON.stringify([status, body.message ?? body, headers['etag']]);
  return names.reduce((shown, name) => shown.replaceAll(name, '<name>'), text);
};

const document = (...statements: readonly object[]) => ({ version: 'v1', statements });

describe('a guess of a stored statement', () => {
  const GUESSES: readonly (readonly [what: string, right: object, wrong: object])[] = [
    [
      'beside one that the caller does not hold',
      { policyDocument: document(STORED[0]!, OTHER) },
      { policyDocument: document(allow('Query', 'srn2:table#guess-'), OTHER) },
    ],
    [
      'that is the whole document',
      { policyDocument: document(...STORED) },
      { policyDocument: document(allow('Query', 'srn2:table#secret'), deny('Query', 'srn2:table#denie-')) },
    ],
    [
      'of a deny, beside an allow that the caller does not hold',
      { policyDocument: document(STORED[1]!, OTHER) },
      { policyDocument: document(deny('Query', 'srn2:table#denie-'), OTHER) },
    ],
    [
      'of a deny alone',
      { policyDocument: document(STORED[1]!) },
      { policyDocument: document(deny('Query', 'srn2:table#denie-')) },
    ],
    [
      'as one of two forms of the document',
      { policyDocumentJson: JSON.stringify(document(...STORED)), policyDocument: document(OTHER) },
      { policyDocumentJson: JSON.stringify(document(STORED[0]!)), policyDocument: document(OTHER) },
    ],
  ];
  const NAMES = ['guess-', 'secret', 'denied', 'denie-'];

  it.each(GUESSES)('is not confirmed: %s', async (_what, right, wrong) => {
    await start(['UpdatePolicy']);
    const refused = await put(right);
    expect(refused.status).toBeGreaterThanOrEqual(400);
    expect(outcome(refused, ...NAMES)).toBe(outcome(await put(wrong), ...NAMES));
    expect(gateway.store.get('Policy', 'hidden')?.spec.statements).toEqual(STORED);
  });

  it.each([
    ['that never matches', NEVER, allow('Query', 'srn2:table#guess-_OFFLINE')],
    [
      'with a column that its table does not have',
      { ...allow('Query', 'srn2:table#secret'), conditions: CONDITIONS },
      { ...allow('Query', 'srn2:table#secret'), conditions: { rowFilters: ['missing = 2'] } },
    ],
  ])('is not confirmed: %s', async (_what, right, wrong) => {
    await start(['UpdatePolicy'], [right]);
    const [one, other] = [
      await put({ policyDocument: document(right) }),
      await put({ policyDocument: document(wrong) }),
    ];
    expect(outcome(one, ...NAMES)).toBe(outcome(other, ...NAMES));
    expect(one.status).toBeGreaterThanOrEqual(400);
  });

  it('does not show whether the stored policy is invalid', async () => {
    const guess = { policyDocument: document(OTHER) };
    await start(['UpdatePolicy']);
    const valid = outcome(await put(guess));
    await gateway.app.close();
    await start(['UpdatePolicy'], [{ effect: 'allow', actions: ['Qury'], resources: ['srn2:table#x'] }]);
    expect(outcome(await put(guess))).toBe(valid);
  });

  it('is kept by a caller that may read the policy, as before', async () => {
    await start(['UpdatePolicy', 'GetPolicy']);
    const { status } = await put({ policyDocument: document(...STORED), description: 'new' });
    expect(status).toBe(200);
  });
});

describe('a write by a caller that may not read the resource', () => {
  it('has no version in its response, also where it changes nothing', async () => {
    await start(['UpdatePolicy', 'UpdateRole', 'AttachPolicy', 'DetachPolicy', 'BindPolicy']);
    gateway.store.seed(
      policy('binding', { statements: [{ effect: 'allow', actions: ['BindPolicy'], resources: ['srn2:policy#*'] }] }),
      role('binding', { policies: ['binding'] }),
      roleAssignment('binding', { role: 'binding', subjects: [{ type: 'user-email', name: 'alice@example.com' }] }),
    );
    const policySrn = 'srn2:policy#hidden';
    const answers = [
      await put({}),
      await send('PUT', '/roles/srn2:role%23has-it', {}),
      await send('POST', '/roles/srn2:role%23has-it/attach-policy', { policySrn }),
      await send('POST', '/roles/srn2:role%23has-not/detach-policy', { policySrn }),
    ];
    for (const { status, body, headers } of answers) {
      expect([status, Object.keys(body).sort(), headers['etag']]).toEqual([200, ['name', 'srn'], undefined]);
    }
  });

  it('does not show which roles have a policy', async () => {
    await start(['AttachPolicy', 'DetachPolicy'], [STORED[1]!]);
    for (const verb of ['attach', 'detach']) {
      const change = (name: string) =>
        send('POST', `/roles/srn2:role%23${name}/${verb}-policy`, { policySrn: 'srn2:policy#hidden' });
      const has = outcome(await change('has-it'), 'has-it');
      expect([verb, has]).toEqual([verb, outcome(await change('has-not'), 'has-not')]);
      expect(has).toMatch(/^\[403/);
    }
  });

  it('does not show by an expiry who has a role', async () => {
    await start(['CreateAssignment'], [STORED[1]!]);
    gateway.store.seed(
      // What is denied to the caller, it may pass on, and not take back.
      roleAssignment('denied', { role: 'has-it', subjects: [{ type: 'user-email', name: 'alice@example.com' }] }),
      roleAssignment('member', { role: 'has-it', subjects: [{ type: 'group', name: 'members' }] }),
    );
    const assign = (subject: string) =>
      send('POST', '/roles/srn2:role%23has-it/create-assignment', {
        subject,
        subjectType: 'group',
        expiresAt: '2027-01-01T00:00:00Z',
      });
    expect(outcome(await assign('members'), 'members')).toBe(outcome(await assign('others'), 'others'));
  });
});

describe('the access key of a service token', () => {
  const KEY = 'k'.repeat(16);
  async function withToken(actions: readonly string[]): Promise<void> {
    await start(actions);
    gateway.store.seed({
      ...serviceToken('secret-name'),
      status: { accessKey: KEY, secretHash: hashSecretKey('s'.repeat(32)) },
    });
  }

  it('does not show the name of the token, nor the name its key, to callers that may not read it', async () => {
    await withToken(['DeleteAssignment', 'CreateAssignment', 'GetAssignment']);
    const role = '/roles/srn2:role%23has-not';
    const token = (subject: string) => ({ subject, subjectType: 'service-token' });
    const shown: Answer[] = [];
    const path = `/service-tokens/${inPath('service-token', KEY)}`;
    shown.push(await send('GET', path), await send('POST', `${path}/rotate`, {}), await send('DELETE', path));
    shown.push(await send('POST', `${role}/delete-assignment`, token(KEY)));
    shown.push(await send('PUT', `${role}/assignments`, [token(KEY), token(KEY)]));
    for (const answer of shown) expect(JSON.stringify(answer.body)).not.toContain('secret-name');
    const byName = await send('POST', `${role}/delete-assignment`, token('secret-name'));
    expect(byName.body).toEqual(token('secret-name'));
  });

  it('that is deleted does not show that it is an administrator by the text', async () => {
    await withToken(['DeleteServiceToken']);
    gateway.store.seed(
      roleAssignment('robot', { role: 'system-admin', subjects: [{ type: 'service-token', name: 'secret-name' }] }),
    );
    const refused = await send('DELETE', `/service-tokens/${inPath('service-token', 'secret-name')}`);
    expect(refused.body.message).toBe(
      'you may not delete service token `secret-name`: it has a role, which you may not read, that you may not remove',
    );
  });
});
