// A load generator in a separate process: clients that send one request after the other, each on its own connection. Argument: JSON of a {@link Load}.
// Prints the JSON of a {@link LoadFigures}.
import { Agent, request } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { Load, LoadFigures, Target } from './load.ts';

const REQUEST_LIMIT_MS = 60_000;
const load = JSON.parse(process.argv[2] ?? '') as Load;
const { pauseMs = 0 } = load;
const latencies: number[] = [];
const failures = new Map<string, number>();
let bytes = 0;

function ask(agent: Agent, { url, method, headers, body }: Target): Promise<number> {
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  const sent = request(url, { method, agent, headers, timeout: REQUEST_LIMIT_MS }, (response) => {
    let length = 0;
    response.on('data', (chunk: Buffer) => (length += chunk.length));
    response.on('error', reject);
    response.on('end', () => {
      if (response.statusCode === 200) resolve(length);
      else reject(new Error(`status ${response.statusCode}`));
    });
  });
  sent.on('timeout', () => sent.destroy(new Error('no response in time')));
  sent.on('error', reject);
  sent.end(body);
  return promise;
}

async function client(index: number, until: number, isMeasured: boolean): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  if (pauseMs > 0) await delay((pauseMs * index) / load.clients);
  for (let turn = 0; performance.now() < until; turn++) {
    const target = load.targets[(index + turn * load.clients) % load.targets.length]!;
    if (turn > 0 && pauseMs > 0) await delay(pauseMs);
    const began = performance.now();
    try {
      const length = await ask(agent, target);
      if (!isMeasured) continue;
      bytes += length;
      latencies.push(performance.now() - began);
    } catch (error) {
      const text = (error as Error).message;
      failures.set(text, (failures.get(text) ?? 0) + 1);
    }
  }
  agent.destroy();
}

async function run(seconds: number, isMeasured: boolean): Promise<number> {
  const began = performance.now();
  const until = began + seconds * 1000;
  await Promise.all(Array.from({ length: load.clients }, (_, index) => client(index, until, isMeasured)));
  return (performance.now() - began) / 1000;
}

await run(load.warmUpSeconds, false);
process.stdout.write('measuring\n');
const seconds = await run(load.seconds, true);
const sorted = latencies.toSorted((a, b) => a - b);
const at = (part: number): number => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))] ?? 0;
const figures: LoadFigures = {
  requests: sorted.length,
  perSecond: sorted.length / seconds,
  p50Ms: at(0.5),
  p99Ms: at(0.99),
  bytes,
  failures: Object.fromEntries(failures),
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
process.exit(0);
