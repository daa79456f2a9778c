import { mkdtemp, rm } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../support/fake-engine.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { Pki } from '../support/kubernetes/pki.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { once } from '../support/once.ts';
import { STRANGER, Strangers } from '../support/strangers.ts';

// What clients without a credential, and callers that send nothing, can do to others: nothing that others notice.

const WHOAMI = '/api/v1/rbac-manager/whoami';
const SQL = JSON.stringify({ sql: 'SELECT city FROM orders' });
const DESCRIPTORS = 1024;
/** Time-outs of heads, handshakes and bodies are ten seconds, and are looked at every two. */
const SILENCE_ENDS_MS = 20_000;

let engine: FakeEngine;
let gateway: GatewayProcess | undefined;
const strangers = new Strangers();

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
afterAll(() => engine.close());

async function start(options: Partial<Parameters<typeof GatewayProcess.start>[0]> = {}): Promise<GatewayProcess> {
  return (gateway = await GatewayProcess.start({ controllers: engine.url, ...options }));
}

const open = (...parameters: Parameters<Strangers['open']>): Promise<Socket[]> => strangers.open(...parameters);

async function probe(path: string): Promise<number> {
  const url = `http://127.0.0.1:${gateway?.metricsPort}/${path}`;
  return (await fetch(url, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) })).status;
}

/** Sends a request on an open connection. @returns the status of its response */
async function statusOf(socket: Socket, path: string, ...headers: (readonly [string, string])[]): Promise<number> {
  const lines = [`GET ${path} HTTP/1.1`, 'host: x', ...headers.map(([name, value]) => `${name}: ${value}`)];
  socket.write(`${lines.join('\r\n')}\r\n\r\n`);
  const [bytes] = (await once(socket, 'data')) as [Buffer];
  return Number(/^HTTP\/1\.1 (\d+)/.exec(bytes.toString())?.[1]);
}

async function refused(limit: string): Promise<number> {
  const answer = await fetch(`http://127.0.0.1:${gateway?.metricsPort}/metrics`);
  const line = new RegExp(`^olap_warden_limit_refused_total\\{limit="${limit}"\\} (\\d+)$`, 'm');
  return Number(line.exec(await answer.text())?.[1]);
}

async function query(asking: GatewayProcess, token: string): Promise<number> {
  const headers = [asking.authorization(token), ['Content-Type', 'application/json']] as const;
  return (await asking.once({ method: 'POST', target: '/query/sql', headers, body: SQL })).status;
}

describe('strangers', () => {
  it.each([
    ['/', 17],
    ['/docs', 10],
    ['/openapi.json', 10],
  ])('that pipeline `GET %s` are served between other callers', async (path, count) => {
    const asked = await start();
    await asked.call('GET', path);
    // Connected before: this program, which reads all responses, would need many turns of its own for a connection.
    const [caller] = await open(asked.port, 1, '127.0.0.1');
    const [prober] = await open(asked.metricsPort, 1, '127.0.0.1');
    const answered = strangers.answers;
    await strangers.pipeline(asked.port, 100, count, path);
    const answers = (): number => strangers.answers - answered;
    await expect.poll(answers).toBeGreaterThan(0);
    const before = answers();
    expect(await statusOf(caller as Socket, WHOAMI, asked.authorization())).toBe(200);
    expect(await statusOf(prober as Socket, '/livez')).toBe(200);
    // Two requests were served meanwhile.
    expect(answers() - before).toBeLessThan((100 * count) / 2);
    await expect.poll(answers, { timeout: WAIT_LIMIT_MS }).toBe(100 * count);
  });

  it('that pipeline more than may wait are disconnected, and delay no other caller', async () => {
    const asked = await start();
    await strangers.pipeline(asked.port, 300, 900, '/');
    expect((await asked.call('GET', WHOAMI)).status).toBe(200);
    expect(await probe('livez')).toBe(200);
    await expect.poll(() => refused('pipelined-requests'), { timeout: WAIT_LIMIT_MS }).toBe(300);
    // Of each connection the request in service and those that may wait, at most.
    expect(strangers.answers).toBeLessThanOrEqual(300 * 17);
  });

  it('that open more silent connections than there are file descriptors stop nothing', async () => {
    const asked = await start({ descriptors: DESCRIPTORS });
    const [kept] = await open(asked.port, 1, '127.0.0.1');
    kept?.write(`GET / HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(kept as Socket, 'data');
    await strangers.beSilent(asked.port, 1_200);
    for (const path of ['livez', 'readyz', 'metrics']) expect(await probe(path), path).toBe(200);
    expect(await query(asked, asked.token)).toBe(200);
    expect((await refused('silent-connections')) + (await refused('connections'))).toBeGreaterThan(0);
    expect(await refused('connections-of-address')).toBeGreaterThan(0);
    for (const socket of strangers.sockets.splice(1)) socket.destroy();
    kept?.write(`GET / HTTP/1.1\r\nhost: x\r\n\r\n`);
    await once(kept as Socket, 'data');
    expect(await query(asked, asked.token)).toBe(200);
  });

  it('that hold connections to the listener of the probes do not keep others from it', async () => {
    const asked = await start({ descriptors: DESCRIPTORS });
    await open(asked.metricsPort, 1_100);
    for (const path of ['livez', 'readyz', 'metrics']) expect(await probe(path), path).toBe(200);
    expect(await query(asked, asked.token)).toBe(200);
  });

  it('that send nothing, or a part of a request, are disconnected, also before the handshake of TLS', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-silent-tls-'));
    try {
      const pki = new Pki(folder);
      await pki.createAuthority();
      await pki.issue('tls', [['CN', 'tls']], 'subjectAltName=IP:127.0.0.1\nextendedKeyUsage=serverAuth');
      const plain = await GatewayProcess.start({ controllers: engine.url });
      const flags = { 'tls-cert-file': pki.path('tls.crt'), 'tls-key-file': pki.path('tls.key') };
      try {
        const secured = await start({ flags });
        const silent = [...(await open(secured.port, 3)), ...(await open(plain.port, 3))];
        silent[0]?.write('\x16\x03\x01');
        silent[3]?.write('GET / HTTP/1.1\r\nho');
        silent[4]?.write('\r\n');
        await Promise.all(silent.map((socket) => once(socket.resume(), 'close', {}, SILENCE_ENDS_MS)));
      } finally {
        await plain.stop();
      }
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('leave a line in the log for what the parser rejects, and a count', async () => {
    const asked = await start();
    const send = async (text: string): Promise<string> => {
      const [socket] = await open(asked.port, 1);
      let received = '';
      socket?.on('data', (bytes) => (received += String(bytes))).write(text);
      await once(socket as Socket, 'close');
      return received.slice(0, 12);
    };
    const conflict = 'content-length: 1\r\ntransfer-encoding: chunked\r\n\r\n';
    expect([
      await send('GET /\0 HTTP/1.1\r\nhost: x\r\n\r\n'),
      await send(`GET / HTTP/1.1\r\nhost: x\r\nlong: ${'x'.repeat(70_000)}\r\n\r\n`),
      await send(`POST / HTTP/1.1\r\nhost: x\r\n${conflict}`),
      await send('CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n'),
    ]).toEqual(['HTTP/1.1 400', 'HTTP/1.1 431', 'HTTP/1.1 400', 'HTTP/1.1 405']);
    const lines = asked.program.output.split('\n').filter((line) => line.includes('a client was rejected'));
    const codes = ['HPE_INVALID_URL', 'HPE_HEADER_OVERFLOW', 'HPE_INVALID_TRANSFER_ENCODING', 'CONNECT'];
    expect(lines.map((line) => JSON.parse(line) as unknown)).toMatchObject(
      codes.map((code) => ({ code, clientAddress: STRANGER })),
    );
    const metrics = await (await fetch(`http://127.0.0.1:${asked.metricsPort}/metrics`)).text();
    for (const code of codes) expect(metrics).toContain(`olap_warden_http_rejected_total{reason="${code}"} 1`);
  });
});

describe('callers', () => {
  const IDLE = 33;

  it.each(['content-length: 1048576', 'transfer-encoding: chunked'])(
    'whose uploads are idle (%s) hold up nobody, and are disconnected',
    async (framing) => {
      const asked = await start();
      const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] }];
      for (let i = 0; i < 4; i++) {
        const { bearerToken } = await asked.tokenFor(`idle-${i}`, statements);
        await strangers.uploadIdly(asked.port, bearerToken, IDLE, framing);
      }
      await delay(500);
      expect(await query(asked, asked.token)).toBe(200);
      const timeouts = strangers.sockets.map(async (socket) => {
        let received = '';
        socket.on('data', (bytes) => (received += String(bytes)));
        await once(socket, 'close', {}, SILENCE_ENDS_MS);
        return received.slice(0, 12);
      });
      expect(new Set(await Promise.all(timeouts))).toEqual(new Set(['HTTP/1.1 408']));
      expect(await refused('body-rate')).toBe(4 * IDLE);
    },
  );

  it('with more connections than one caller may have get 429 on the last one', async () => {
    const asked = await start({ flags: { 'max-connections-per-caller': 3 } });
    const { bearerToken } = await asked.tokenFor('many', [
      { effect: 'allow', actions: ['Query'], resources: ['srn2:table#*'] },
    ]);
    const status = async (): Promise<string> => {
      const [socket] = await open(asked.port, 1);
      socket?.write(`GET ${WHOAMI} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${bearerToken}\r\n\r\n`);
      const [bytes] = await once(socket as Socket, 'data');
      return String(bytes);
    };
    const answers = [await status(), await status(), await status(), await status()];
    expect(answers.map((text) => text.slice(9, 12))).toEqual(['200', '200', '200', '429']);
    expect(answers[3]).toMatch(/\r\nretry-after: 5\r\n.*connection: close\r\n/is);
    expect(await query(asked, asked.token)).toBe(200);
    strangers.sockets[0]?.destroy();
    await expect.poll(async () => (await status()).slice(9, 12)).toBe('200');
  });
});
