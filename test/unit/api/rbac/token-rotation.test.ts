import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceTokenAuthenticator } from '../../../../src/access/authenticators/service-token.ts';
import { Directory, tokenPrincipal } from '../../../../src/access/directory.ts';
import { MAX_PREVIOUS_HASHES } from '../../../../src/resources/service-token.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import { policy, role, roleAssignment, serviceToken } from '../../../builders/resources.ts';
import { MemoryStore, SharedBackend } from '../../access/memory-store.ts';
import { inPath, testGateway, type TestGateway } from './gateway.ts';

const HOUR = 3_600;

let gateway: TestGateway;
/** A second gateway over the same store, with a clock of its own. */
let other: { readonly authenticator: ServiceTokenAuthenticator; readonly clock: { time: number } };
let token: { readonly path: string; readonly name: string; readonly secrets: string[] };

afterEach(() => gateway.app.close());

beforeEach(async () => {
  const backend = new SharedBackend();
  gateway = await testGateway({ store: new MemoryStore(backend) });
  const clock = { time: gateway.clock.time };
  const directory = new Directory(new MemoryStore(backend), { environment: 'olap', cluster: 'pinot' });
  other = { authenticator: new ServiceTokenAuthenticator(directory, { now: () => clock.time }), clock };
  gateway.store.seed(
    policy('reading', { statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#t'] }] }),
    role('reader', { policies: ['reading'] }),
  );
  token = await newToken();
});

async function newToken(description = 'ci') {
  const { body } = await gateway.call('POST', '/service-tokens', { description });
  const subject = { subject: body.accessKey, subjectType: 'service-token' };
  await gateway.call('POST', '/roles/srn2:role%23reader/create-assignment', subject);
  const path = `/service-tokens/${inPath('service-token', body.accessKey)}`;
  return { path, name: String(body.accessKey), secrets: [String(body.bearerToken)] };
}

async function rotate(graceSeconds?: number) {
  const answer = await gateway.call('POST', `${token.path}/rotate`, graceSeconds === undefined ? {} : { graceSeconds });
  if (answer.status === 200) token.secrets.unshift(answer.body.bearerToken);
  return answer;
}

/** Which of the secrets the other gateway accepts, the newest first. */
async function accepted(): Promise<boolean[]> {
  await new Promise(setImmediate);
  const results = token.secrets.map((secret) => other.authenticator.authenticate({ scheme: 'bearer', token: secret }));
  return (await Promise.all(results)).map(({ outcome }) => outcome === 'authenticated');
}

describe('the rotation of a service token', () => {
  it('returns another secret of the same access key, once', async () => {
    const { status, body, headers } = await rotate(HOUR);
    expect(status).toBe(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(body).toMatchObject({ accessKey: token.name, description: 'ci', rotatedAt: '2026-11-01T12:00:00Z' });
    expect(body.bearerToken).toBe(`svc-${token.name}-${body.secretKey}`);
    expect(token.secrets[0]).not.toBe(token.secrets[1]);
    const read = await gateway.call('GET', token.path);
    expect(JSON.stringify(read.body)).not.toContain(body.secretKey);
    expect(read.body).toMatchObject({
      rotatedAt: '2026-11-01T12:00:00Z',
      formerSecrets: [{ validUntil: '2026-11-01T13:00:00Z' }],
    });
  });

  it('ends the former secret at its time, to the second, at every gateway', async () => {
    await rotate(HOUR);
    other.clock.time += HOUR * 1000 - 1;
    expect(await accepted()).toEqual([true, true]);
    other.clock.time += 1;
    expect(await accepted()).toEqual([true, false]);
    gateway.clock.time = other.clock.time;
    expect((await gateway.call('GET', token.path)).body).not.toHaveProperty('formerSecrets');
  });

  it('gives programs a day by default', async () => {
    expect((await rotate()).body.formerSecrets).toEqual([{ validUntil: '2026-11-02T12:00:00Z' }]);
  });

  it('with no grace ends all former secrets at once', async () => {
    await rotate(HOUR);
    await rotate(HOUR);
    expect(await accepted()).toEqual([true, true, true]);
    expect((await rotate(0)).body).not.toHaveProperty('formerSecrets');
    expect(await accepted()).toEqual([true, false, false, false]);
  });

  it('lets no earlier secret be accepted for longer than its grace', async () => {
    await rotate(24 * HOUR);
    gateway.clock.time += 1000;
    expect((await rotate(HOUR)).body.formerSecrets).toEqual([
      { validUntil: '2026-11-01T13:00:01Z' },
      { validUntil: '2026-11-01T13:00:01Z' },
    ]);
    gateway.clock.time += 1000;
    const { body } = await rotate(24 * HOUR);
    expect(body.formerSecrets.map(({ validUntil }: { validUntil: string }) => validUntil)).toEqual([
      '2026-11-01T13:00:01Z',
      '2026-11-01T13:00:01Z',
      '2026-11-02T12:00:02Z',
    ]);
  });

  it('can be repeated after a lost response, a bounded number of times', async () => {
    for (let count = 0; count < MAX_PREVIOUS_HASHES; count++) {
      expect((await rotate(HOUR)).status).toBe(200);
      gateway.clock.time += 1000;
    }
    const refused = await rotate(HOUR);
    expect(refused.status).toBe(409);
    expect(refused.body.message).toContain('rotate it after 2026-11-01T13:00:00Z, or with `graceSeconds` 0');
    expect((await rotate(0)).status).toBe(200);
    expect((await accepted()).filter(Boolean)).toHaveLength(1);
  });

  it('by two callers at once leaves two secrets, each accepted', async () => {
    const answers = await Promise.all([rotate(HOUR), rotate(HOUR)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect(await accepted()).toEqual([true, true, true]);
  });

  it('is 400 for a grace that is no number of seconds up to 30 days', async () => {
    for (const graceSeconds of [-1, 1.5, 30 * 24 * HOUR + 1, 'soon']) {
      const answer = await gateway.call('POST', `${token.path}/rotate`, { graceSeconds });
      expect(answer.status).toBe(400);
    }
  });

  it('is 409 for a token that the operator rotates, and for one that has expired', async () => {
    gateway.store.seed(serviceToken('job', { secretName: 'job-token' }));
    const path = `/service-tokens/${inPath('service-token', 'job')}/rotate`;
    const refused = await gateway.call('POST', path, {});
    expect([refused.status, refused.body.message]).toEqual([409, expect.stringContaining('olapwarden.io/rotate-at')]);
    const { body } = await gateway.call('POST', '/service-tokens', { expiresAt: '2026-11-01T12:00:10Z' });
    gateway.clock.time += 10_000;
    const late = await gateway.call('POST', `/service-tokens/${inPath('service-token', body.accessKey)}/rotate`, {});
    expect([late.status, late.body.message]).toEqual([409, expect.stringContaining('expired')]);
  });

  it('is 404 for a token that does not exist', async () => {
    expect((await gateway.call('POST', '/service-tokens/srn2:service-token%23none/rotate', {})).status).toBe(404);
  });
});

describe('who may rotate a service token', () => {
  /** A gateway over the same objects whose caller has these roles. */
  async function as(statements: readonly Statement[], principal = tokenPrincipal('robot', 'uid-of-robot')) {
    gateway.store.seed(
      policy('own', { statements: [...statements] }),
      role('own', { policies: ['own'] }),
      roleAssignment('own', { role: 'own', subjects: [{ type: 'service-token', name: principal.id }] }),
    );
    return testGateway({ store: gateway.store, principal });
  }
  const allow = (action: string, resource: string) => ({
    effect: 'allow' as const,
    actions: [action],
    resources: [resource],
  });
  const MAY_ROTATE = [
    allow('GetServiceToken', 'srn2:service-token#*'),
    allow('UpdateServiceToken', 'srn2:service-token#*'),
  ];

  it('needs the right to read and to update it', async () => {
    for (const right of MAY_ROTATE) {
      const caller = await as([right]);
      expect((await caller.call('POST', `${token.path}/rotate`, {})).status).toBe(403);
      await caller.app.close();
    }
  });

  it('must hold what the token has, because the response is its secret', async () => {
    const without = await as([...MAY_ROTATE]);
    const refused = await without.call('POST', `${token.path}/rotate`, {});
    expect(refused.status).toBe(403);
    expect(refused.body.message).toBe(
      `you may not rotate service token \`${token.name}\`: a statement of one of its roles, which you may not read, exceeds what you hold`,
    );
    await without.app.close();
    for (const enough of [allow('Query', 'srn2:table#*'), allow('AssignRole', 'srn2:role#reader')]) {
      const caller = await as([...MAY_ROTATE, enough]);
      expect((await caller.call('POST', `${token.path}/rotate`, {})).status).toBe(200);
      await caller.app.close();
    }
  });

  it('learns the role that is in the way where it may read who has it', async () => {
    const caller = await as([...MAY_ROTATE, allow('GetAssignment', 'srn2:role#*')]);
    const refused = await caller.call('POST', `${token.path}/rotate`, {});
    expect(refused.body.message).toContain('the right `AssignRole` on `srn2:role#reader` would allow it');
    expect(refused.body.message).not.toContain('reading');
    await caller.app.close();
  });

  it('may be the token itself, whatever its roles deny each other', async () => {
    gateway.store.seed(
      policy('denying', { statements: [{ effect: 'deny', actions: ['Query'], resources: ['srn2:table#t'] }] }),
      role('denied', { policies: ['denying'] }),
      roleAssignment('denied', { role: 'denied', subjects: [{ type: 'service-token', name: token.name }] }),
    );
    const { uid } = gateway.store.get('ServiceToken', token.name)!.metadata;
    const caller = await as([...MAY_ROTATE], tokenPrincipal(token.name, uid));
    expect((await caller.call('POST', `${token.path}/rotate`, {})).status).toBe(200);
    await caller.app.close();
  });
});
