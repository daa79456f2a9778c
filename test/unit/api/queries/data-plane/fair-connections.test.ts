import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import type { Credential } from '../../../../../src/access/authenticators/authenticator.ts';
import type { Principal } from '../../../../../src/access/principal.ts';
import { createEngine } from '../../../../../src/pinot/connection.ts';
import type { Engine, KnownTables } from '../../../../../src/pinot/types.ts';
import { ALICE, dataPlaneOf, testApp } from '../../../../support/app.ts';
import { FakeEngine } from '../../../../support/fake-engine.ts';
import { WAIT_LIMIT_MS } from '../../../../support/limits.ts';
import { within } from '../../../../support/until.ts';

const ROWS = JSON.stringify({ resultTable: { rows: [[1]] }, exceptions: [], tablesQueried: ['events'] });
const PATIENT = { timeout: WAIT_LIMIT_MS, interval: 5 };
/** Connections to one broker. */
const CONNECTIONS = 64;

let pinot: FakeEngine;
let engine: Engine & KnownTables;
let app: FastifyInstance;
let url: string;
let hanging: (() => void)[];

function callerOf(credential: Credential): Principal {
  const id = credential.scheme === 'bearer' ? credential.token : credential.username;
  return { ...ALICE, id, srn: `srn2:user#${id}` };
}

beforeEach(async () => {
  hanging = [];
  pinot = new FakeEngine();
  await pinot.listen();
  pinot.serve(['events_OFFLINE']);
  pinot.answers.set('POST /query/sql', ({ body }, response) => {
    if (body.includes('hangs')) hanging.push(() => void response.end(ROWS));
    else response.writeHead(200, { 'content-type': 'application/json' }).end(ROWS);
  });
  engine = createEngine({ controllerUrls: [pinot.url] });
  app = await testApp({
    register: async () => undefined,
    parts: {
      dataPlane: dataPlaneOf(engine),
      authenticator: {
        name: 'by token',
        authenticate: async (credential) => ({ outcome: 'authenticated', principal: callerOf(credential) }),
      },
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
  url = `http://127.0.0.1:${(app.server.address() as AddressInfo).port}`;
});

afterEach(async () => {
  app.server.closeAllConnections();
  await app.close();
  await engine.close();
  await pinot.close();
});

function query(caller: string, column: string): Promise<Response> {
  return fetch(`${url}/query/sql`, {
    method: 'POST',
    headers: { authorization: `Bearer ${caller}`, 'content-type': 'application/json' },
    body: JSON.stringify({ sql: `SELECT ${column} FROM events` }),
  });
}

it('the hanging queries of one caller leave connections to the broker for others, and its own wait in turn', async () => {
  const all = Array.from({ length: CONNECTIONS }, () => query('alice', 'hangs'));
  await expect.poll(() => hanging.length, PATIENT).toBeGreaterThanOrEqual(CONNECTIONS / 2);
  for (let i = 0; i < 5; i++) {
    const { status } = await within('the query of another caller', query('bob', 'a'), 30_000);
    expect(status).toBe(200);
  }
  expect(hanging).toHaveLength(CONNECTIONS / 2);
  // The ones that wait follow.
  let ended = 0;
  while (ended < CONNECTIONS) {
    await expect.poll(() => hanging.length, PATIENT).toBeGreaterThan(0);
    ended += hanging.length;
    for (const end of hanging.splice(0)) end();
  }
  expect(new Set((await Promise.all(all)).map(({ status }) => status))).toEqual(new Set([200]));
});
