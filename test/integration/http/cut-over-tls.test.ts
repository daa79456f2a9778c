import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { Pki } from '../../support/kubernetes/pki.ts';
import { type Standalone, startStandalone } from '../../support/service.ts';

// A client that ignores a missing `close_notify`, as curl does, would take an incomplete response for a complete one.

const SERVER = 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth';
const ROWS = Array.from({ length: 40_000 }, (_, i) => `[${i},"${'x'.repeat(40)}"]`).join();
const ANSWER =
  `{"resultTable":{"dataSchema":{"columnNames":["id","name"],"columnDataTypes":["LONG","STRING"]},"rows":[${ROWS}]},` +
  '"exceptions":[],"tablesQueried":["orders"]}';
/** curl: failure in receiving data. */
const RECEIVE_ERROR = 56;
/** curl: the response is shorter than it says. */
const PARTIAL = 18;

let folder: string;
let fake: FakeEngine;
let service: Standalone;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-cut-tls-'));
  const pki = new Pki(folder);
  await pki.createAuthority();
  await pki.issue('tls', [['CN', 'tls']], SERVER);
  fake = new FakeEngine();
  await fake.listen();
  fake.serve(['orders_OFFLINE']);
  service = await startStandalone({
    controllers: fake.url,
    'tls-cert-file': pki.path('tls.crt'),
    'tls-key-file': pki.path('tls.key'),
  });
});
afterAll(async () => {
  await service.stop();
  await fake.close();
  await rm(folder, { recursive: true });
});

/** @returns the exit code of curl, and whether it received all or some of the response */
function curl(version: string): Promise<{ code: number; received: 'all' | 'some' | 'nothing' }> {
  const url = `${service.url.replace('http:', 'https:')}/query/sql`;
  const headers = [`Authorization: Bearer ${service.token}`, 'Content-Type: application/json'];
  // As nginx, which requests HTTP/1.0 without a list of protocols.
  const args = ['-s', version, '--no-alpn', '--cacert', join(folder, 'ca.crt'), '-d', '{"sql":"SELECT * FROM orders"}'];
  const all = [...args, ...headers.flatMap((header) => ['-H', header]), url];
  return new Promise((resolve) => {
    execFile('curl', all, { maxBuffer: 2 * ANSWER.length, timeout: 30_000 }, (error, text) => {
      const received = text === ANSWER ? 'all' : text === '' ? 'nothing' : 'some';
      resolve({ code: error === null ? 0 : Number(error.code), received });
    });
  });
}

describe.each([
  ['--http1.0', RECEIVE_ERROR],
  ['--http1.1', PARTIAL],
])('a response over TLS to curl %s', (version, expected) => {
  it('is whole where that of the engine is', async () => {
    fake.answers.set('POST /query/sql', (_request, response) => response.writeHead(200).end(ANSWER));
    expect(await curl(version)).toEqual({ code: 0, received: 'all' });
  });

  it('ends with an error where the engine breaks it off', async () => {
    fake.answers.set('POST /query/sql', (_request, response) => {
      response.writeHead(200).write(ANSWER.slice(0, 1_000_000), () => response.destroy());
    });
    expect(await curl(version)).toEqual({ code: expected, received: 'some' });
  });
});
