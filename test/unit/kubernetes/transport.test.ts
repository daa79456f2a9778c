import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { KubernetesApiError } from '../../../src/kubernetes/api-error.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { StoreError } from '../../../src/store/resource-store.ts';
import { configFor, failure, json, TimerClock } from './stub-api.ts';
import { until } from '../../support/until.ts';

let server: Server;
let url: string;
let answer: (request: IncomingMessage, response: ServerResponse) => void;
let seen: IncomingMessage[];
let clock: TimerClock;
let transport: KubernetesTransport;

beforeEach(async () => {
  seen = [];
  clock = new TimerClock();
  answer = (_request, response) => json(response, 200, { ok: true });
  server = createServer((request, response) => {
    seen.push(request);
    answer(request, response);
  });
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve));
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  transport = new KubernetesTransport(configFor(url), { clock });
});

afterEach(async () => {
  await transport.close();
  server.closeAllConnections();
  await new Promise((resolve) => void server.close(resolve));
  expect(clock.pending.size, 'timers left behind').toBe(0);
});

async function failed(promise: Promise<unknown>): Promise<KubernetesApiError> {
  const error: unknown = await promise.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof KubernetesApiError)) throw new Error('no KubernetesApiError', { cause: error });
  return error;
}

describe('a request to the Kubernetes API', () => {
  test('sends a query, JSON and its user agent', async () => {
    let body = '';
    answer = (request, response) => {
      request.on('data', (chunk: Buffer) => (body += chunk.toString()));
      request.on('end', () => json(response, 201, { made: true }));
    };
    const result = await transport.request('PATCH', '/apis/x', {
      query: { fieldManager: 'olap warden', limit: 5, dryRun: undefined },
      body: { spec: {} },
      contentType: 'application/merge-patch+json',
    });
    expect(result).toEqual({ status: 201, body: { made: true } });
    expect(body).toBe('{"spec":{}}');
    expect(seen[0]?.url).toBe('/apis/x?fieldManager=olap+warden&limit=5');
    expect(seen[0]?.headers).toMatchObject({
      'content-type': 'application/merge-patch+json',
      accept: 'application/json',
      'user-agent': 'olap-warden',
    });
  });

  test('keeps the path prefix of the server', async () => {
    await transport.close();
    transport = new KubernetesTransport(configFor(`${url}/k8s/clusters/c-1/`), { clock });
    await transport.request('GET', '/version');
    expect(seen[0]?.url).toBe('/k8s/clusters/c-1/version');
  });

  test.each(['/a/..', '/a/../b', '/a/.', '/a/', '/a//b', 'a'])('rejects the path `%s`', async (path) => {
    expect((await failed(transport.request('DELETE', path))).code).toBe('invalid');
    expect(seen).toEqual([]);
  });

  test.each([
    [400, 'BadRequest', 'invalid'],
    [401, 'Unauthorized', 'unavailable'],
    [403, 'Forbidden', 'forbidden'],
    [404, 'NotFound', 'not-found'],
    [409, 'AlreadyExists', 'already-exists'],
    [409, 'Conflict', 'conflict'],
    [410, 'Expired', 'unavailable'],
    [413, 'RequestEntityTooLarge', 'invalid'],
    [422, 'Invalid', 'invalid'],
    [500, 'InternalError', 'unavailable'],
    [504, 'Timeout', 'unavailable'],
  ])('%i %s is %s', async (status, reason, code) => {
    answer = (_request, response) => json(response, status, failure(status, reason));
    const error = await failed(transport.request('GET', '/x'));
    expect(error).toBeInstanceOf(StoreError);
    expect(error).toMatchObject({ code, status, reason });
  });

  test('names each rejected field', async () => {
    const causes = [
      { reason: 'FieldValueInvalid', field: 'spec.subjects[0].type', message: 'Unsupported value: "bot"' },
      { reason: 'FieldValueRequired', field: '<nil>', message: 'spec.role cannot be changed' },
    ];
    answer = (_request, response) =>
      json(response, 422, failure(422, 'Invalid', { details: { kind: 'RoleAssignment', name: 'a', causes } }));
    const error = await failed(transport.request('POST', '/x', { body: {} }));
    expect(error.message).toBe(
      'RoleAssignment `a` is not valid: `spec.subjects[0].type`: Unsupported value: "bot"; spec.role cannot be changed',
    );
    expect(error.causes).toEqual(causes);
  });

  test('reports the status of an error page of a proxy', async () => {
    answer = (_request, response) => {
      response.writeHead(502, { 'content-type': 'text/html' });
      response.end('<html>Bad Gateway</html>');
    };
    const error = await failed(transport.request('GET', '/x'));
    expect(error.message).toBe('the Kubernetes API responded with 502 to GET /x');
  });

  test('retries after 429 and after 503 with Retry-After, not after other responses', async () => {
    const answers: [number, Record<string, string>][] = [
      [429, { 'retry-after': '3' }],
      [503, { 'retry-after': '2' }],
      [429, {}],
      [200, {}],
    ];
    answer = (_request, response) => {
      const [status, headers] = answers.shift() ?? [500, {}];
      json(response, status, {}, headers);
    };
    expect((await transport.request('POST', '/x', { body: {} })).status).toBe(200);
    expect(clock.waits.filter((ms) => ms < 30_000)).toEqual([3000, 2000, 1000]);
    answers.push([503, {}], [200, {}]);
    expect((await failed(transport.request('POST', '/x', { body: {} }))).status).toBe(503);
  });

  test('fails after its retries, or if the delay would be too long, and reports Retry-After', async () => {
    answer = (_request, response) => json(response, 429, failure(429, 'TooManyRequests'), { 'retry-after': '40' });
    const late = await failed(transport.request('GET', '/x', { timeoutMs: 35_000 }));
    expect(late.retryAfterMs).toBe(40_000);
    expect(seen).toHaveLength(1);
    answer = (_request, response) =>
      json(response, 429, failure(429, 'TooManyRequests', { details: { retryAfterSeconds: 1 } }));
    const often = await failed(transport.request('GET', '/x'));
    expect(often.retryAfterMs).toBe(1000);
    expect(seen).toHaveLength(5);
    expect((await failed(transport.request('GET', '/x', { retries: 0 }))).code).toBe('unavailable');
    expect(seen).toHaveLength(6);
  });

  test('times out if the server sends nothing or an incomplete response', async () => {
    answer = () => {};
    const silent = await failed(transport.request('GET', '/x', { timeoutMs: 2000 }));
    expect(silent.message).toBe('the Kubernetes API did not respond to GET /x: nothing received within 2000 ms');
    answer = (_request, response) => {
      response.writeHead(200, { 'content-length': '100' });
      response.write('{');
    };
    expect((await failed(transport.request('GET', '/x', { timeoutMs: 2000 }))).code).toBe('unavailable');
  });

  test('the caller can abort it at any time', async () => {
    const reason = new Error('called off');
    await expect(transport.request('GET', '/x', { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
    expect(seen).toEqual([]);
    const controller = new AbortController();
    answer = () => controller.abort(reason);
    await expect(transport.request('GET', '/x', { signal: controller.signal })).rejects.toBe(reason);
    const waiting = new AbortController();
    answer = (_request, response) => {
      json(response, 429, {}, { 'retry-after': '40' });
      void until('a wait', () => clock.waits.includes(40_000)).then(() => waiting.abort(reason));
    };
    await expect(transport.request('GET', '/x', { timeoutMs: 90_000, signal: waiting.signal })).rejects.toBe(reason);
  });

  test('reports a refused connection', async () => {
    const away = new KubernetesTransport(configFor('http://127.0.0.1:1'), { clock });
    const error = await failed(away.request('GET', '/x'));
    expect(error.message).toMatch(/^the Kubernetes API did not respond to GET \/x: connect ECONNREFUSED/);
    await away.close();
  });

  test('many requests share few connections', async () => {
    const ports = new Set<number | undefined>();
    answer = (request, response) => {
      ports.add(request.socket.remotePort);
      json(response, 200, {});
    };
    for (let i = 0; i < 20; i++) await transport.request('GET', '/x');
    expect(ports.size).toBeLessThanOrEqual(2); // one may still be giving back its answer
    await Promise.all(Array.from({ length: 200 }, async () => transport.request('GET', '/x')));
    expect(ports.size).toBeLessThanOrEqual(32);
  });
});

describe('a watch of the Kubernetes API', () => {
  test('an error status rejects at once', async () => {
    answer = (_request, response) => json(response, 410, failure(410, 'Expired'));
    const error = await failed(transport.stream('/x', { idleMs: 60_000 }));
    expect(error.expired).toBe(true);
  });

  test('break releases the connection', async () => {
    answer = (_request, response) => {
      response.writeHead(200);
      response.write('one\n');
    };
    const closed = new Promise((resolve) => void server.on('connection', (socket) => socket.on('close', resolve)));
    for await (const line of await transport.stream('/x', { idleMs: 60_000 })) {
      expect(line).toBe('one');
      break;
    }
    await closed;
  });
});

describe('the credentials for the Kubernetes API', () => {
  const token = (request: IncomingMessage) => request.headers.authorization;

  test('reads a replaced token file when the server rejects the old token', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'olap-warden-token-'));
    const tokenFile = join(directory, 'token');
    await writeFile(tokenFile, 'first\n');
    let accepted = 'Bearer first';
    answer = (request, response) =>
      token(request) === accepted ? json(response, 200, {}) : json(response, 401, failure(401, 'Unauthorized'));
    await transport.close();
    transport = new KubernetesTransport(
      () => {
        const config = new KubeConfig();
        config.loadFromClusterAndUser(
          { name: 'stub', server: url, skipTLSVerify: true },
          { name: 'pod', authProvider: { name: 'tokenFile', config: { tokenFile } } },
        );
        return config;
      },
      { clock },
    );
    await transport.request('GET', '/x');
    accepted = 'Bearer second';
    await writeFile(tokenFile, 'second\n');
    clock.jump(2000);
    await transport.request('GET', '/x');
    expect(seen.map(token)).toEqual(['Bearer first', 'Bearer first', 'Bearer second']);
    await rm(directory, { recursive: true });
  });

  test('does not load the configuration for every 401', async () => {
    let loads = 0;
    await transport.close();
    transport = new KubernetesTransport(
      configFor(url, () => `token-${++loads}`),
      { clock },
    );
    answer = (_request, response) => json(response, 401, failure(401, 'Unauthorized'));
    for (let i = 0; i < 5; i++) {
      const error = await failed(transport.request('GET', '/x'));
      expect(error.message).not.toContain('token-');
      expect(error.code).toBe('unavailable');
    }
    expect(loads).toBe(1);
  });

  test('reports a missing token file and reads it at the next request', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'olap-warden-token-'));
    const tokenFile = join(directory, 'token');
    await transport.close();
    transport = new KubernetesTransport(
      () => {
        const config = new KubeConfig();
        config.loadFromClusterAndUser(
          { name: 'stub', server: url, skipTLSVerify: true },
          { name: 'pod', authProvider: { name: 'tokenFile', config: { tokenFile } } },
        );
        return config;
      },
      { clock },
    );
    expect((await failed(transport.request('GET', '/x'))).message).toMatch(/^cannot get credentials .*ENOENT/);
    await writeFile(tokenFile, 'now');
    await transport.request('GET', '/x');
    expect(seen.map(token)).toEqual(['Bearer now']);
    await rm(directory, { recursive: true });
  });

  test('the time-out of a request includes a credential plugin', async () => {
    const config = configFor(url)();
    const hang = { isAuthProvider: () => true, applyAuthentication: async () => new Promise<void>(() => {}) };
    config.addAuthenticator(hang);
    const [user] = config.users;
    if (user !== undefined) config.users = [{ ...user, authProvider: { name: 'hang', config: {} } }];
    await transport.close();
    transport = new KubernetesTransport(() => config, { clock });
    const error = await failed(transport.request('GET', '/x', { timeoutMs: 2000 }));
    expect(error.message).toContain('nothing received within 2000 ms');
  });

  test('a configuration without a cluster is rejected at start', () => {
    const config = new KubeConfig();
    config.loadFromOptions({
      clusters: [],
      users: [],
      contexts: [{ name: 'a', cluster: 'b', user: 'c' }],
      currentContext: 'x',
    });
    expect(() => new KubernetesTransport(() => config)).toThrow(
      '`x` names no cluster: set `current-context` to one of `a`',
    );
  });

  test('the namespace is the option, the context, or default', () => {
    const config = configFor(url)();
    expect(new KubernetesTransport(() => config, { namespace: 'mine' }).namespace).toBe('mine');
    expect(new KubernetesTransport(() => config).namespace).toBe('default');
    const [context] = config.contexts;
    if (context !== undefined) config.contexts = [{ ...context, namespace: 'theirs' }];
    expect(new KubernetesTransport(() => config).namespace).toBe('theirs');
  });
});
