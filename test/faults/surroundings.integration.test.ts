import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { auditPath } from '../../src/app/parts/audit.ts';
import { run } from '../../src/commands/run.ts';
import { named, NOT_ROOT } from '../support/documents/obstacle.ts';
import { execute } from '../support/execute.ts';
import { once } from '../support/once.ts';
import { ProbedGateway, type ProbedGatewayOptions } from '../support/probed-gateway.ts';
import { until } from '../support/until.ts';
import { Figures } from './support/figures.ts';
import type { Outcome } from './support/load.ts';
import { type Fault, observe } from './support/observe.ts';

// A gateway whose log, audit file or identity provider fails, while clients read and change access.

const MANAGER = '/api/v1/rbac-manager';
const figures = new Figures('surroundings');
const gateways: ProbedGateway[] = [];
let folder: string;
let number = 0;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-surroundings-'));
});
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.kill();
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
  await figures.write();
});

async function start(options: Omit<ProbedGatewayOptions, 'folder'>): Promise<ProbedGateway> {
  const gateway = await ProbedGateway.start({ folder: join(folder, `data-${++number}`), ...options });
  gateways.push(gateway);
  return gateway;
}

const list = (of: ProbedGateway) => () => of.send('GET', `${MANAGER}/roles`);
/** Creates one role after the other. */
function create(at: ProbedGateway, created: string[] = []): () => Promise<Outcome> {
  return async () => {
    const name = `role-${++number}`;
    const outcome = await at.send('POST', `${MANAGER}/roles`, { body: { name, description: 'x' } });
    if (outcome.status === 200) created.push(name);
    return outcome;
  };
}

const kinds = (outcomes: readonly Outcome[]): Set<unknown> => new Set(outcomes.map(({ status }) => status));

describe.skipIf(NOT_ROOT)(named('a full disk (mounts a tmpfs)', NOT_ROOT), () => {
  let disk: string;
  let ballast: string;
  const full: () => Omit<Fault, 'name'> = () => ({
    begin: () => writeFile(ballast, Buffer.alloc(4 * 1024 * 1024)).catch(() => undefined),
    end: () => rm(ballast),
  });
  beforeAll(async () => {
    disk = join(folder, 'disk');
    ballast = join(disk, 'ballast');
    await mkdir(disk);
    await execute('mount', ['-t', 'tmpfs', '-o', 'size=3m', 'tmpfs', disk]);
  });
  afterEach(() => rm(ballast, { force: true }));
  afterAll(() => execute('umount', ['-l', disk]));

  it('of the log delays and loses nothing', async () => {
    const path = join(disk, 'log');
    const log = openSync(path, 'a');
    const gateway = await start({ stdio: ['ignore', log, log] });
    const created: string[] = [];
    const fault = { name: 'the disk of the log is full', ...full() };
    const { reads, writes } = await observe(figures, fault, list(gateway), create(gateway, created));
    expect([kinds(reads), kinds(writes)]).toEqual([new Set([200]), new Set([200])]);
    await until('all lines are written', async () => {
      const text = await readFile(path, 'utf8');
      return created.every((name) => text.includes(`"${name}"`));
    });
    expect(await gateway.metric('olap_warden_log_dropped_total')).toBe(0);
    expect(await gateway.end()).toEqual([0, null]);
    closeSync(log);
  });

  it.each([true, false])('of the audit file, `audit-required` %s', async (required) => {
    const path = join(disk, `audit-${required}.jsonl`);
    const gateway = await start({ flags: { 'audit-file': path, 'audit-required': String(required) } });
    const created: string[] = [];
    const name = `the disk of the audit file is full, \`audit-required\` is ${required}`;
    const { reads, writes } = await observe(figures, { name, ...full() }, list(gateway), create(gateway, created));
    expect([kinds(reads), kinds(writes)]).toEqual([new Set([200]), new Set(required ? [200, 503] : [200])]);
    const { text } = await list(gateway)();
    const stored = (JSON.parse(text) as { name: string }[]).map((role) => role.name);
    expect(stored.filter((role) => role.startsWith('role-')).toSorted()).toEqual(created.toSorted());
    // The caller is an administrator.
    const file = auditPath(path, 'administrators');
    await until('every change has its record', async () => {
      const lines = (await readFile(file, 'utf8')).trimEnd().split('\n');
      const roles = lines.map((line) => JSON.parse(line) as { role: string; outcome: string });
      const recorded = new Set(roles.flatMap(({ role, outcome }) => (outcome === 'succeeded' ? [role] : [])));
      return created.every((role) => recorded.has(role));
    });
    let out = '';
    const print = (text: string): void => void (out += text);
    const code = await run(['audit', 'verify', file], { env: {}, stdout: print, stderr: print });
    expect(code, out).toBe(0);
    if (required)
      expect(writes.find(({ status }) => status === 503)?.text).toContain(
        'no change is made while the audit file cannot be written: ',
      );
    else expect(await gateway.metric('olap_warden_audit_failures_total')).toBeGreaterThan(0);
  });
});

describe('an identity provider', () => {
  const key = 'known';
  const other = 'unknown';
  let server: Server;
  let reads = 0;
  let answer: RequestListener;
  let provider: RequestListener;
  let token: (kid: string) => Promise<string>;
  let issuer: string;

  beforeAll(async () => {
    const pair = await generateKeyPair('ES256');
    const keys = [{ ...(await exportJWK(pair.publicKey)), kid: key, alg: 'ES256' }];
    server = createServer((request, response) => {
      reads++;
      answer(request, response);
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    provider = ({ url }, response) =>
      void response.end(JSON.stringify(url === '/keys' ? { keys } : { issuer, jwks_uri: `${issuer}/keys` }));
    let user = 0;
    token = (kid) =>
      new SignJWT({ sub: `user-${++user}` })
        .setProtectedHeader({ alg: 'ES256', kid })
        .setIssuer(issuer)
        .setAudience('olap-warden')
        .setExpirationTime('10m')
        .sign(pair.privateKey);
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  it.each<[string, RequestListener]>([
    ['answers 503', (_request, response) => void response.writeHead(503).end()],
    ['does not respond', () => undefined],
  ])('that %s holds no token with a known key, and is not asked for each other token', async (what, fault) => {
    answer = provider;
    const flags = { 'oidc-issuer': issuer, 'oidc-audiences': 'olap-warden', 'oidc-username-claim': 'sub' };
    const path = join(folder, `log-${what}`);
    const log = openSync(path, 'a');
    const gateway = await start({ flags, stdio: ['ignore', log, log] });
    const whoami = (kid: string) => async () => gateway.send('GET', `${MANAGER}/whoami`, { token: await token(kid) });
    let away = false;
    let unknown: Outcome[] = [];
    const begin = async (): Promise<void> => {
      [answer, away] = [fault, true];
      // Just after a read, an unknown key is 401 without another one.
      await until('a read has failed', async () => {
        await whoami(other)();
        return (await gateway.metric('olap_warden_oidc_keys_stale')) === 1;
      });
      reads = 0;
      const asked = [];
      for (let i = 0; i < 60; i++) {
        asked.push(whoami(`${other}-${i}`)());
        await delay(10);
      }
      unknown = await Promise.all(asked);
      expect(reads).toBeLessThanOrEqual(4);
    };
    const end = (): void => {
      [answer, away] = [provider, false];
    };
    const { reads: known } = await observe(
      figures,
      { name: `the identity provider ${what}`, begin, end },
      whoami(key),
      // A token with an unknown key is 401 while the provider says so.
      async () => {
        const outcome = await whoami(other)();
        return outcome.status === 401 && !away ? { ...outcome, status: 200 } : outcome;
      },
    );
    expect([kinds(known), kinds(unknown)]).toEqual([new Set([200]), new Set([503])]);
    await until('the keys are read again', async () => (await gateway.metric('olap_warden_oidc_keys_stale')) === 0);
    closeSync(log);
    expect(await readFile(path, 'utf8')).toContain('failed to read the keys of the OIDC issuer');
  });
});
