import { spawn } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePorts } from '../../test/support/kubernetes/processes.ts';
import { reasonOf, type Bench } from '../frame/bench.ts';
import { packageVersion } from '../frame/machine.ts';
import { median } from '../frame/measure.ts';
import { atMostTimes, NO_GOAL, type Goal } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { nginxProgram } from '../peers/nginx.ts';
import { cpuMsOf } from '../process-cpu.ts';
import { load, startSide, type Side } from '../workloads/proxy-sides.ts';

const ROUNDS = 5;
/** Times the requests of a round. */
const WARMUP = 5;

/** `POST /query/sql` streamed through, CPU of the proxy process. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  bench.version('@fastify/http-proxy', await packageVersion('@fastify/http-proxy'));
  bench.version('undici', await packageVersion('undici'));
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-proxy-'));
  const engine = await startSide('engine');
  const sides: Side[] = [engine];
  try {
    const ours = await startSide('ours', engine.url);
    const plugin = await startSide('plugin', engine.url);
    const bare = await startSide('bare', engine.url);
    const nginx = await startProxyNginx(bench, folder, engine.url).catch(reasonOf);
    sides.push(ours, plugin, bare, ...(typeof nginx === 'string' ? [] : [nginx]));
    for (const [kilobytes, requests, timesPlugin] of [
      [10, sized({ quick: 100, normal: 4000 }), 1.3],
      [1024, sized({ quick: 10, normal: 200 }), 1],
    ] as const) {
      const peers: [string, Side | string, Goal][] = [
        ['@fastify/http-proxy, checks nothing', plugin, atMostTimes(timesPlugin)],
        ['node:http and undici, checks nothing', bare, NO_GOAL],
        ['nginx', nginx, NO_GOAL],
      ];
      await comparePeers(bench, { kilobytes, requests, ours, peers });
    }
  } finally {
    for (const side of sides) side.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

interface Work {
  readonly kilobytes: number;
  readonly requests: number;
  readonly ours: Side;
  /** A text instead of a side says why the peer is missing. */
  readonly peers: readonly (readonly [name: string, side: Side | string, goal: Goal])[];
}

/** Sides take turns in each round, so that other load of the machine affects all of them. */
async function comparePeers(bench: Bench, { kilobytes, requests, ours, peers }: Work): Promise<void> {
  const all = [ours, ...peers.flatMap(([, side]) => (typeof side === 'string' ? [] : [side]))];
  const costs = new Map(all.map((side) => [side, [] as number[]]));
  const answers = new Map<Side, string>();
  // Only the steady state is measured, because servers run for days and are fully compiled.
  for (const side of all) await load(side, kilobytes, requests * WARMUP);
  for (let round = 0; round < ROUNDS; round++) {
    for (const side of all) {
      const before = await cpuMsOf(side.pid);
      answers.set(side, await load(side, kilobytes, requests));
      costs.get(side)?.push(((await cpuMsOf(side.pid)) - before) / requests);
    }
  }
  const cost = (side: Side) => median(costs.get(side) ?? []);
  for (const [peer, side, goal] of peers) {
    const work = `pass-through of POST /query/sql, ${kilobytes} KB, all checks on`;
    const unit = 'ms CPU a query';
    if (typeof side === 'string') {
      bench.missing({ work, unit, ours: cost(ours), peer, reason: side });
      continue;
    }
    bench.add({
      work,
      unit,
      better: 'less',
      ours: cost(ours),
      peer,
      theirs: cost(side),
      answers: [answers.get(ours), answers.get(side)],
      goal,
    });
  }
}

/** One process with keep-alive connections. */
async function startProxyNginx(bench: Bench, directory: string, engine: string): Promise<Side> {
  const program = await nginxProgram(bench);
  const [port = 0] = await freePorts(1);
  await mkdir(directory, { recursive: true });
  const paths = ['client_body', 'proxy', 'fastcgi', 'uwsgi', 'scgi'];
  await writeFile(
    join(directory, 'nginx.conf'),
    `daemon off; master_process off; user root; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 256; }
http {
  access_log off; tcp_nodelay on; keepalive_requests 10000000;
  ${paths.map((name) => `${name}_temp_path ${directory}/${name};`).join(' ')}
  upstream engine { server ${new URL(engine).host}; keepalive 64; keepalive_requests 10000000; }
  server {
    listen 127.0.0.1:${port};
    location / { proxy_pass http://engine; proxy_http_version 1.1; proxy_set_header Connection ""; }
  }
}`,
  );
  const child = spawn(program, ['-p', directory, '-c', join(directory, 'nginx.conf')], {
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const url = `http://127.0.0.1:${port}`;
  for (let attempt = 0; attempt < 100; attempt++) {
    const answered = await fetch(url, { signal: AbortSignal.timeout(1000) }).then(
      () => true,
      () => false,
    );
    if (answered) return { url, pid: child.pid ?? 0, stop: () => void child.kill('SIGTERM') };
    await sleep(50);
  }
  child.kill('SIGTERM');
  throw new Error('nginx did not start');
}
