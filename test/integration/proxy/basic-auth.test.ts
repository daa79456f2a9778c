import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

// Pinot with its own access control: it gets the gateway's credential, from a file, and never the caller's.
const PRINCIPALS = { principals: 'gateway', 'principals.gateway.password': 'secret' };
const withPrefix = (prefix: string) =>
  Object.fromEntries(Object.entries(PRINCIPALS).map(([key, value]) => [`${prefix}.${key}`, value]));

let pinot: Pinot;
let folder: string;
let credential: string;
let gateway: Standalone;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-basic-'));
  credential = join(folder, 'credential');
  await writeFile(credential, 'gateway:secret');
  pinot = await startPinot({
    servers: 1,
    properties: {
      controller: {
        'controller.admin.access.control.factory.class':
          'org.apache.pinot.controller.api.access.BasicAuthAccessControlFactory',
        ...withPrefix('controller.admin.access.control'),
      },
      broker: {
        'pinot.broker.access.control.class': 'org.apache.pinot.broker.broker.BasicAuthAccessControlFactory',
        ...withPrefix('pinot.broker.access.control'),
      },
    },
  });
  gateway = await startStandalone({
    controllers: pinot.controllerUrl,
    brokers: pinot.brokerUrl,
    'engine-credential-file': credential,
  });
});

afterAll(async () => {
  await gateway.stop();
  await pinot.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The engine's error code for a query that its caller may not run; that for a missing table differs. */
const DENIED = 180;
const sql = { sql: 'SELECT count(*) FROM nothing' };

async function codes(answer: Response): Promise<number[]> {
  const { exceptions } = (await answer.json()) as { exceptions: { errorCode: number }[] };
  return exceptions.map(({ errorCode }) => errorCode);
}

describe('Pinot with basic-auth access control', () => {
  it('rejects requests without the gateway’s credential', async () => {
    // 0.11 says 403 where later versions say 401.
    expect([401, 403]).toContain((await fetch(`${pinot.controllerUrl}/tables`)).status);
    const direct = await fetch(`${pinot.brokerUrl}/query/sql`, { method: 'POST', body: JSON.stringify(sql) });
    expect(direct.status === 401 ? [DENIED] : await codes(direct)).toEqual([DENIED]);
  });

  it('accepts requests through the gateway', async () => {
    const tables = await gateway.call('GET', '/tables');
    expect([tables.status, await tables.json()]).toEqual([200, { tables: [] }]);
    const answer = await gateway.call('POST', '/query/sql', sql);
    expect(answer.status).toBe(200);
    expect(await codes(answer)).not.toContain(DENIED);
  });

  it('gets a rotated credential without a restart', async () => {
    await writeFile(credential, 'gateway:wrong');
    await expect.poll(async () => (await gateway.call('GET', '/version')).status, { interval: 500 }).not.toBe(200);
    await writeFile(credential, 'gateway:secret');
    await expect.poll(async () => (await gateway.call('GET', '/version')).status, { interval: 500 }).toBe(200);
  });
});
