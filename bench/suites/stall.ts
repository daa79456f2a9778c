import { fork, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { request } from 'node:http';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';
import type { Bench } from '../frame/bench.ts';
import { median } from '../frame/measure.ts';
import { atMost } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { longestPolicy, worstRequests, type WorstRequest } from '../workloads/stall-requests.ts';

const GOAL_MS = 50;
const ROUNDS = sized({ quick: 1, normal: 3 });
const TIMEOUT_MS = 120_000;
/** A request that takes longer than this is not repeated. */
const HOPELESS_MS = 1000;
const RBAC = '/api/v1/rbac-manager';
/** Subjects of one role, each one an entry of a response. */
const SUBJECTS = 1000;

interface Gateway {
  readonly url: string;
  readonly token: string;
  readonly child: ChildProcess;
}

/** How long one request blocks the event loop of the gateway, in CPU time. All other requests wait meanwhile, also `/livez`. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  const folder = join(import.meta.dirname, '../workloads');
  const engine = spawn(process.execPath, [join(folder, 'proxy-process.ts'), 'engine'], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let gateway: Gateway | undefined;
  try {
    const [port] = await once(createInterface(engine.stdout), 'line');
    gateway = await startGateway(join(folder, 'stall-process.ts'), `http://127.0.0.1:${port as string}`);
    const reader = await prepare(gateway);
    for (const worst of worstRequests()) await measureRequest(bench, gateway, worst, reader);
  } finally {
    engine.stdin.end();
    if (gateway?.child.connected) gateway.child.disconnect();
  }
}

async function startGateway(program: string, engine: string): Promise<Gateway> {
  const child = fork(program, [engine], { execArgv: [...NODE_OPTIONS] });
  const [{ url, token }] = (await once(child, 'message')) as [{ url: string; token: string }];
  return { url, token, child };
}

/** @returns the credential of a service token whose role has the longest policy */
async function prepare(gateway: Gateway): Promise<string> {
  const rbac = async (path: string, body: object): Promise<Record<string, string>> => {
    const answer = await send(gateway, { name: path, method: 'POST', path: RBAC + path, body: JSON.stringify(body) });
    if (answer.status !== 200) throw new Error(`\`${path}\` returned ${answer.status}: ${answer.text.slice(0, 500)}`);
    return JSON.parse(answer.text) as Record<string, string>;
  };
  const all = {
    version: 'v1',
    statements: Array.from({ length: 1000 }, () => ({ effect: 'allow', resources: ['*'] })),
  };
  await rbac('/policies', { name: 'longest', policyDocumentJson: longestPolicy(60) });
  await rbac('/policies', { name: 'all', policyDocument: all });
  await rbac('/policies', { name: 'written', policyDocument: all });
  for (const name of ['longest', 'all']) {
    await rbac('/roles', { name });
    await rbac(`/roles/srn2:role%23${name}/attach-policy`, { policySrn: `srn2:policy#${name}` });
  }
  const assign = (role: string, subject: string, subjectType: string) =>
    rbac(`/roles/srn2:role%23${role}/create-assignment`, { subject, subjectType });
  const token = await rbac('/service-tokens', { description: 'bench' });
  await assign('longest', token['accessKey'] ?? '', 'service-token');
  await assign('longest', 'everyone', 'group');
  await assign('all', 'everything', 'group');
  for (let index = 0; index < SUBJECTS; index++) await assign('longest', `user-${index}@example.com`, 'user-email');
  return token['bearerToken'] ?? '';
}

async function measureRequest(bench: Bench, gateway: Gateway, worst: WorstRequest, reader: string): Promise<void> {
  const held: number[] = [];
  const statuses = new Set<number>();
  for (let round = 0; round < ROUNDS; round++) {
    await settled(gateway);
    await ask(gateway, 'reset');
    statuses.add((await send(gateway, worst, reader)).status);
    held.push(await ask(gateway, 'read'));
    if (held[0]! > HOPELESS_MS) break;
  }
  bench.note(`${worst.name}: ${median(held).toFixed(1)} ms, status ${[...statuses].join(', ')}`);
  bench.add({
    work: `event loop held by ${worst.name}`,
    unit: 'ms CPU',
    better: 'less',
    ours: median(held),
    goal: atMost(GOAL_MS, 'ms CPU'),
  });
}

/** After a long stall the gateway rejects requests for some time. */
async function settled(gateway: Gateway): Promise<void> {
  const probe = { name: 'probe', method: 'GET', path: `${RBAC}/whoami` };
  while ((await send(gateway, probe)).status !== 200) await sleep(100);
}

async function ask({ child }: Gateway, message: 'reset' | 'read'): Promise<number> {
  const answered = once(child, 'message');
  child.send(message);
  const [longest] = (await answered) as [number];
  return longest;
}

/** On a new connection. @returns status 0 if the connection ended without a response */
function send(
  { url, token }: Gateway,
  { method, path, headers, body = '', asReader = false }: WorstRequest,
  reader = '',
): Promise<{ status: number; text: string }> {
  const { promise, resolve } = Promise.withResolvers<{ status: number; text: string }>();
  const sent = request(
    url + path,
    {
      method,
      agent: false,
      timeout: TIMEOUT_MS,
      headers: {
        authorization: `Bearer ${asReader ? reader : token}`,
        ...(body !== '' && { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    },
    (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('close', () => resolve({ status: response.statusCode ?? 0, text: Buffer.concat(chunks).toString() }));
    },
  );
  sent.on('timeout', () => sent.destroy());
  sent.on('error', () => resolve({ status: 0, text: '' }));
  sent.end(body);
  return promise;
}
