import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../support/fake-engine.ts';
import { GatewayProcess, type GatewayProcessOptions } from '../support/gateway-process.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { Strangers } from '../support/strangers.ts';
import { Figures } from './support/figures.ts';
import { type Outcome, send } from './support/load.ts';
import { observe } from './support/observe.ts';

// A gateway on which strangers and idle callers open connections, while one client queries and another one creates roles.

const QUERY = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] }];
const SQL = JSON.stringify({ sql: 'SELECT city FROM orders' });
const CALLERS = 4;
const IDLE_UPLOADS = 33;

const figures = new Figures('strangers');
const strangers = new Strangers();
let engine: FakeEngine;
let gateway: GatewayProcess | undefined;
let number = 0;

beforeAll(async () => {
  engine = new FakeEngine();
  await engine.listen();
  engine.serve(['orders_OFFLINE']);
});
afterEach(async () => {
  strangers.leave();
  await gateway?.stop();
  gateway = undefined;
});
afterAll(async () => {
  await engine?.close();
  await figures.write();
});

async function start(options: Partial<GatewayProcessOptions> = {}): Promise<GatewayProcess> {
  return (gateway = await GatewayProcess.start({ controllers: engine.url, ...options }));
}

function post({ url, token }: GatewayProcess, path: string, body: string): Promise<Outcome> {
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  return send(url + path, { method: 'POST', headers, body });
}

/** Nobody else is refused anything, the probes answer, and a limit was what held the strangers. */
async function expectServed(asked: GatewayProcess, name: string, begin: () => Promise<void>): Promise<void> {
  const probes: Outcome[] = [];
  const probe = async (): Promise<void> => {
    for (const path of ['livez', 'readyz']) probes.push(await send(`http://127.0.0.1:${asked.metricsPort}/${path}`));
  };
  const { reads, writes } = await observe(
    figures,
    {
      name,
      begin: async () => {
        await begin();
        await probe();
      },
      end: async () => {
        await probe();
        strangers.leave();
      },
    },
    () => post(asked, '/query/sql', SQL),
    () => post(asked, '/api/v1/rbac-manager/roles', JSON.stringify({ name: `role-${++number}`, description: 'x' })),
  );
  expect(new Set([...reads, ...writes, ...probes].map(({ status }) => status))).toEqual(new Set([200]));
}

async function refused(asked: GatewayProcess, limit: string): Promise<number> {
  const { text } = await send(`http://127.0.0.1:${asked.metricsPort}/metrics`);
  const line = new RegExp(`^olap_warden_limit_refused_total\\{limit="${limit}"\\} (\\d+)$`, 'm');
  return Number(line.exec(text)?.[1]);
}

describe('other clients are served while', () => {
  it('more silent connections are opened than there are descriptors', async () => {
    const asked = await start({ descriptors: 1024 });
    const name = '1,100 silent connections to a gateway with 1,024 file descriptors';
    await expectServed(asked, name, () => strangers.beSilent(asked.port, 1_100));
    expect(await refused(asked, 'connections-of-address')).toBeGreaterThan(0);
  });

  it.each(['content-length: 1048576', 'transfer-encoding: chunked'])('uploads are idle: %s', async (framing) => {
    const asked = await start();
    const tokens: string[] = [];
    for (let i = 0; i < CALLERS; i++) tokens.push((await asked.tokenFor(`idle-${i}`, QUERY)).bearerToken);
    const name = `${CALLERS} callers with ${IDLE_UPLOADS} idle uploads each, \`${framing}\``;
    await expectServed(asked, name, async () => {
      for (const token of tokens) await strangers.uploadIdly(asked.port, token, IDLE_UPLOADS, framing);
    });
    await expect
      .poll(async () => (await send(`http://127.0.0.1:${asked.metricsPort}/readyz`)).status, { timeout: WAIT_LIMIT_MS })
      .toBe(200);
  });

  it('strangers pipeline requests', async () => {
    const asked = await start();
    const name = '100 strangers with 17 pipelined requests each, again and again';
    await expectServed(asked, name, () => strangers.pipeline(asked.port, 100, 17, '/', true));
    expect(strangers.answers).toBeGreaterThan(0);
  });
});
