import { copyFile, mkdtemp, readFile, rm } from 'node:fs/promises';
import { get } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { connect, type ConnectionOptions } from 'node:tls';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { execute } from '../../support/execute.ts';
import { Pki } from '../../support/kubernetes/pki.ts';
import { once } from '../../support/once.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

// The settings of TLS hold for every connection, also after the certificate was renewed.

const SERVER = 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth,clientAuth';
let folder: string;
let pki: Pki;
let ca: string;
let client: { readonly cert: string; readonly key: string };
const services: Standalone[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-tls-options-'));
  pki = new Pki(folder);
  await pki.createAuthority();
  for (const name of ['first', 'second', 'client']) await pki.issue(name, [['CN', name]], SERVER);
  ca = await readFile(pki.path('ca.crt'), 'utf8');
  client = {
    cert: await readFile(pki.path('client.crt'), 'utf8'),
    key: await readFile(pki.path('client.key'), 'utf8'),
  };
  for (const name of ['rsa-first', 'rsa-second']) {
    const request = `req -x509 -newkey rsa:2048 -nodes -days 30 -subj /CN=${name} -keyout ${name}.key -out ${name}.crt`;
    await execute('openssl', request.split(' '), { cwd: folder });
  }
});
afterEach(async () => {
  for (const service of services.splice(0)) await service.stop();
});
afterAll(() => rm(folder, { recursive: true, force: true }));

async function install(name: string): Promise<void> {
  await copyFile(pki.path(`${name}.key`), join(folder, 'tls.key'));
  await copyFile(pki.path(`${name}.crt`), join(folder, 'tls.crt'));
}

async function start(name: string, flags: Readonly<Record<string, string>> = {}): Promise<Standalone> {
  await install(name);
  const files = { 'tls-cert-file': join(folder, 'tls.crt'), 'tls-key-file': join(folder, 'tls.key') };
  const service = await startStandalone({ ...files, ...flags });
  services.push(service);
  return service;
}

const portOf = (service: Standalone): number => Number(new URL(service.url).port);

/** Name in the certificate, protocol and cipher of a connection; why it was refused. */
async function handshake(service: Standalone, options: ConnectionOptions = {}): Promise<string> {
  const socket = connect({ host: '127.0.0.1', port: portOf(service), rejectUnauthorized: false, ...options });
  try {
    await once(socket, 'secureConnect');
    const { subject } = socket.getPeerCertificate();
    return `${String(subject.CN)} ${socket.getProtocol()} ${socket.getCipher().name}`;
  } catch (error) {
    return `refused: ${(error as NodeJS.ErrnoException).code}`;
  } finally {
    socket.destroy();
  }
}

async function renew(service: Standalone, name: string, options: ConnectionOptions = {}): Promise<void> {
  await install(name);
  await expect.poll(() => handshake(service, options), { interval: 250 }).toMatch(new RegExp(`^${name} `));
}

it('TLS 1.2 has forward secrecy and authenticated encryption only, also with an RSA key and after a renewal', async () => {
  const service = await start('rsa-first');
  for (const name of ['rsa-first', 'rsa-second']) {
    await renew(service, name);
    for (const cipher of ['AES128-GCM-SHA256', 'AES256-SHA', 'ECDHE-RSA-AES128-SHA256', 'ECDHE-RSA-AES256-SHA']) {
      const offered = { maxVersion: 'TLSv1.2', ciphers: `${cipher}:@SECLEVEL=0` } as const;
      expect(await handshake(service, offered), cipher).toMatch(/^refused/);
    }
    expect(await handshake(service, { maxVersion: 'TLSv1.2' })).toMatch(/ TLSv1\.2 ECDHE-RSA-.*(?:GCM|CHACHA20)/);
    expect(await handshake(service)).toMatch(/ TLSv1\.3 TLS_/);
  }
});

it('`tls-min-version` 1.3 refuses TLS 1.2, also after a renewal', async () => {
  const service = await start('first', { 'tls-min-version': '1.3' });
  for (const name of ['first', 'second']) {
    await renew(service, name);
    expect(await handshake(service, { maxVersion: 'TLSv1.2' })).toMatch(/^refused/);
  }
});

it('`tls-ciphers` selects the suites', async () => {
  const service = await start('first', { 'tls-ciphers': 'ECDHE-ECDSA-AES256-GCM-SHA384' });
  const offered = (ciphers: string) => handshake(service, { maxVersion: 'TLSv1.2', ciphers });
  expect(await offered('ECDHE-ECDSA-AES256-GCM-SHA384')).toBe('first TLSv1.2 ECDHE-ECDSA-AES256-GCM-SHA384');
  expect(await offered('ECDHE-ECDSA-AES128-GCM-SHA256')).toMatch(/^refused/);
  await expect(start('first', { 'tls-ciphers': 'NO-SUCH-SUITE' })).rejects.toThrow('`tls-ciphers` must have names of');
});

/** Status of the caller's own entry, or `refused`. */
function whoami(service: Standalone, options: object): Promise<unknown> {
  return new Promise((resolve) => {
    const headers = { authorization: `Bearer ${service.token}` };
    const url = `https://127.0.0.1:${portOf(service)}/api/v1/rbac-manager/whoami`;
    get(url, { ca, agent: false, headers, ...options }, (response) => {
      response.resume();
      resolve(response.statusCode);
    }).once('error', () => resolve('refused'));
  });
}

it('`tls-client-ca-file` requires a certificate of the authority beside the credential, also after a renewal', async () => {
  const service = await start('first', { 'tls-client-ca-file': pki.path('ca.crt') });
  for (const name of ['first', 'second']) {
    await renew(service, name, client);
    for (const maxVersion of ['TLSv1.2', 'TLSv1.3']) {
      expect(await whoami(service, { ...client, maxVersion })).toBe(200);
      expect(await whoami(service, { ...client, maxVersion, headers: {} })).toBe(401);
      expect(await whoami(service, { maxVersion })).toBe('refused');
      const [cert, key] = await Promise.all(['crt', 'key'].map((end) => readFile(pki.path(`rsa-first.${end}`))));
      expect(await whoami(service, { cert, key, maxVersion })).toBe('refused');
    }
  }
  expect((await fetch(`${service.metricsUrl}/readyz`)).status).toBe(200);
  await expect(start('first', { 'tls-client-ca-file': pki.path('ca.key') })).rejects.toThrow(
    'must have PEM certificates',
  );
});

it('gateways that require client certificates reach each other with their own', async () => {
  // Their own certificate is the trusted one, too: its chain has the authority.
  const chain = join(folder, 'chain.crt');
  await execute('sh', ['-c', 'cat "$1" ca.crt > chain.crt', 'sh', 'first.crt'], { cwd: folder });
  const flags = {
    ...{ 'tls-cert-file': chain, 'tls-key-file': pki.path('first.key'), 'tls-client-ca-file': pki.path('ca.crt') },
    'advertise-host': '127.0.0.1',
  };
  const first = await start('first', { ...flags, 'broker-id': 'gateway-a' });
  const second = await start('first', { ...flags, 'broker-id': 'gateway-b', peers: `127.0.0.1:${portOf(first)}` });
  const call = async (path: string): Promise<string> => {
    const request = get(`https://127.0.0.1:${portOf(second)}${path}`, {
      ...{ ca, agent: false, ...client },
      headers: { authorization: `Bearer ${second.token}` },
    });
    const [response] = await once(request, 'response');
    return text(response as NodeJS.ReadableStream);
  };
  const instances = async (): Promise<string> => {
    // It looks for the other gateways.
    await call('/query/mine');
    return call('/api/v1/gateway');
  };
  await expect.poll(instances, { interval: 250 }).toContain('gateway-a');
});
