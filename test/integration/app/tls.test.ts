import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions } from 'node:tls';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Pki } from '../../support/kubernetes/pki.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { once } from '../../support/once.ts';

const SERVER = 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth';
let folder: string;
let pki: Pki;
let service: Standalone;
let ca: string;

async function install(name: string): Promise<void> {
  // The key first: for a moment key and certificate do not match, as while a Secret is being replaced.
  await copyFile(pki.path(`${name}.key`), join(folder, 'tls.key'));
  await copyFile(pki.path(`${name}.crt`), join(folder, 'tls.crt'));
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-tls-'));
  pki = new Pki(folder);
  await pki.createAuthority();
  for (const name of ['first', 'second']) await pki.issue(name, [['CN', name]], SERVER);
  ca = await readFile(pki.path('ca.crt'), 'utf8');
  await install('first');
  service = await startStandalone({
    'tls-cert-file': join(folder, 'tls.crt'),
    'tls-key-file': join(folder, 'tls.key'),
  });
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

const port = (): number => Number(new URL(service.url).port);

/** Common name of the certificate that a new connection gets. */
async function served(): Promise<string | string[] | undefined> {
  const socket = connect({ host: '127.0.0.1', port: port(), ca });
  await once(socket, 'secureConnect');
  const { subject } = socket.getPeerCertificate();
  socket.destroy();
  return subject.CN;
}

it('serves HTTPS and applies a renewed certificate without a restart', async () => {
  const status = await new Promise((resolve, reject) => {
    get(`https://127.0.0.1:${port()}/openapi.json`, { ca, agent: false }, (response) => {
      response.resume();
      resolve([response.statusCode, 'strict-transport-security' in response.headers]);
    }).once('error', reject);
  });
  expect(status).toEqual([200, true]);
  expect(await served()).toBe('first');
  await install('second');
  await expect.poll(served, { interval: 250 }).toBe('second');
});

it.each(['/api/v1/rbac-manager/whoami', '/query/sql'])(
  'knows that the request for %s came over HTTPS',
  async (path) => {
    const message = (name: string): Promise<string> =>
      new Promise((resolve, reject) => {
        const headers = { cookie: `${name}olap-warden-session=x`, 'x-olap-warden-ui': '1' };
        get(`https://127.0.0.1:${port()}${path}`, { ca, agent: false, headers }, (response) => {
          text(response).then(resolve, reject);
        }).once('error', reject);
      });
    expect(await message('__Host-')).toContain('the session is invalid');
    expect(await message('')).toContain('no credential was sent');
  },
);

/** The protocol of a handshake with these options; the error where the server refuses it. */
async function handshake(options: ConnectionOptions): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: port(), ca, ...options });
  try {
    await once(socket, 'secureConnect');
    return `${socket.getProtocol()} ${socket.getCipher().name}`;
  } catch (error) {
    return `refused: ${(error as NodeJS.ErrnoException).code}`;
  } finally {
    socket.destroy();
  }
}

it.each(['TLSv1', 'TLSv1.1'] as const)('refuses %s', async (version) => {
  // OpenSSL's own client needs this level to offer such a version at all.
  const weak = { minVersion: version, maxVersion: version, ciphers: 'ALL:@SECLEVEL=0' } as const;
  expect(await handshake(weak)).toMatch(/^refused: ERR_SSL_(?:TLSV1_ALERT_PROTOCOL_VERSION|.*PROTOCOL_VERSION)/);
});

it.each(['NULL', 'aNULL', 'RC4', '3DES', 'EXPORT', 'MD5'])('has no cipher of the weak class %s', async (ciphers) => {
  // A class that this OpenSSL does not have at all cannot be offered by it, nor used by the server.
  const offered = await handshake({ maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` }).catch(
    () => 'refused: not in OpenSSL',
  );
  expect(offered).toMatch(/^refused/);
});

it.each([
  'AES128-GCM-SHA256',
  'AES256-SHA',
  'ECDHE-ECDSA-AES128-SHA256',
  'ECDHE-RSA-AES256-SHA384',
  'DHE-RSA-AES128-SHA',
])('has no cipher without forward secrecy or authenticated encryption, such as %s', async (ciphers) => {
  expect(await handshake({ maxVersion: 'TLSv1.2', ciphers: `${ciphers}:@SECLEVEL=0` })).toMatch(/^refused/);
});

it('accepts TLS 1.2 and 1.3, with forward secrecy', async () => {
  expect(await handshake({ maxVersion: 'TLSv1.2' })).toMatch(/^TLSv1\.2 ECDHE-/);
  expect(await handshake({})).toMatch(/^TLSv1\.3 TLS_/);
});
