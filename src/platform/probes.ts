import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { Registry } from 'prom-client';
import { withErrorListener } from './stream-errors.ts';
import { errorMessage } from './plain-error.ts';

/** Returns a readable reason for not being ready; undefined when ready. */
export type ReadinessCheck = () => string | undefined;

export interface ProbesOptions {
  readonly registry: Registry;
  /** By name. `/readyz` is 200 only when all are ready. */
  readonly checks: ReadonlyMap<string, ReadinessCheck>;
  /** Limits what connections may do; no limits where absent. */
  readonly admission?: {
    attach(server: Server): void;
    listener(serve: RequestListener): RequestListener;
  };
}

/** A probe is sent at once, on a new connection. */
const HEAD_TIMEOUT_MS = 5_000;

function send(response: ServerResponse, status: number, type: string, body: string): void {
  response.writeHead(status, {
    'content-type': type,
    'content-length': Buffer.byteLength(body),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  });
  response.end(body);
}

const TEXT = 'text/plain; charset=utf-8';

/**
 * The probe listener: `/livez`, `/readyz` (503 with one line for each failed check) and `/metrics`.
 * It needs no credential and returns no secrets. It keeps running while the main listener is drained.
 */
export function createProbesServer(options: ProbesOptions): Server {
  const serve: RequestListener = (request, response) => {
    withErrorListener(response);
    const path = (request.url ?? '/').split('?', 1)[0] ?? '/';
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      response.setHeader('allow', 'GET, HEAD');
      send(response, 405, TEXT, 'only GET and HEAD are allowed here\n');
      return;
    }
    answer(path, response, options).catch((error: unknown) => {
      send(response, 500, TEXT, `the metrics cannot be collected: ${errorMessage(error)}\n`);
    });
  };
  const { admission } = options;
  const timeouts = { requestTimeout: 10_000, headersTimeout: HEAD_TIMEOUT_MS, connectionsCheckingInterval: 1_000 };
  const server = createServer(timeouts, admission?.listener(serve) ?? serve);
  admission?.attach(server);
  return server;
}

async function answer(path: string, response: ServerResponse, { registry, checks }: ProbesOptions): Promise<void> {
  if (path === '/livez') {
    send(response, 200, TEXT, 'ok\n');
  } else if (path === '/readyz') {
    const problems = [...checks].flatMap(([name, check]) => {
      const problem = check();
      return problem === undefined ? [] : [`${name}: ${problem}`];
    });
    if (problems.length === 0) send(response, 200, TEXT, 'ready\n');
    else send(response, 503, TEXT, `not ready\n${problems.join('\n')}\n`);
  } else if (path === '/metrics') {
    send(response, 200, registry.contentType, await registry.metrics());
  } else {
    send(response, 404, TEXT, 'there are /livez, /readyz and /metrics\n');
  }
}
