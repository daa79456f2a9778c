import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { ui } from '../../../../src/api/ui/index.ts';
import { TEST_TOKEN, testApp } from '../../../support/app.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';

let app: FastifyInstance;
let folder: string;
let records: AuditRecord[];
const clock = new FakeClock();

beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-ui-'));
  await mkdir(join(folder, 'assets'));
  await writeFile(join(folder, 'index.html'), '<!doctype html>');
  records = [];
  const label = { environment: 'test', cluster: 'pinot', colour: undefined, contact: undefined };
  app = await testApp({
    register: (scope) =>
      ui(scope, {
        folder,
        oidc: undefined,
        label,
        directory: { grantsOf: () => ({ namePatterns: () => [] }), nameOf: () => '' },
      }),
    parts: { audit: validAuditLog(records, clock) },
  });
});
afterEach(async () => {
  await app.close();
  await rm(folder, { recursive: true });
});

describe('the audit log', () => {
  it('has sign-ins at the dashboard with the groups of the caller', async () => {
    expect((await app.inject({ method: 'POST', url: '/ui/session' })).statusCode).toBe(204);
    expect(records).toMatchObject([
      {
        type: 'login',
        action: 'SignIn',
        outcome: 'succeeded',
        status: 204,
        principal: 'srn2:user#alice@example.com',
        authenticator: 'token-file',
        groups: ['analysts'],
        clientAddress: '127.0.0.1',
      },
    ]);
  });

  it('has the sign-outs of a session, once, and whose it was', async () => {
    const session = `olap-warden-session=${await app.sessions.seal(TEST_TOKEN)}`;
    const headers = { authorization: '', cookie: session, 'x-olap-warden-ui': '1' };
    for (let attempt = 0; attempt < 2; attempt++) await app.inject({ method: 'DELETE', url: '/ui/session', headers });
    expect(records).toMatchObject([
      { type: 'login', action: 'SignOut', outcome: 'succeeded', status: 204, principal: 'srn2:user#alice@example.com' },
    ]);
  });

  it('has failed logins once for each address and reason, and then their number', async () => {
    const headers = { authorization: 'Bearer wrong' };
    for (let attempt = 0; attempt < 5; attempt++) await app.inject({ url: '/ui/session', headers });
    await app.inject({ method: 'POST', url: '/ui/session', headers });
    expect(records).toMatchObject([
      {
        type: 'login',
        action: 'Authenticate',
        outcome: 'denied',
        status: 401,
        message: 'the token is not known',
        count: 1,
      },
    ]);
    expect(records[0]).not.toHaveProperty('principal');
    expect(JSON.stringify(records)).not.toContain('wrong');
    await clock.advance(300_000);
    expect(records.slice(1)).toMatchObject([{ action: 'Authenticate', count: 5 }]);
  });

  it('has nothing of requests without a credential', async () => {
    await app.inject({ method: 'DELETE', url: '/ui/session', headers: { authorization: '' } });
    await app.inject({ url: '/ui/session', headers: { authorization: '' } });
    expect(records).toEqual([]);
  });
});
