import { createEngine } from '../../src/pinot/connection.ts';
import { deliver } from '../../src/pinot/delivery.ts';
import type { Engine, EngineEndpoint } from '../../src/pinot/types.ts';
import { createGather } from '../../src/health/gather/gather.ts';
import { KeptReadings } from '../../src/health/gather/tables/kept-readings.ts';
import { runChecks } from '../../src/health/run/run.ts';
import { resolveSettings } from '../../src/health/settings.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { parsing, type Parsed } from './parsing-endpoint.ts';

/**
 * A health run in a separate process and a second one on the unchanged cluster, to measure their CPU and memory:
 * `node bench/workloads/health-run.ts <controller URL>`; prints their figures as JSON. With `parse` as a second argument it makes one run, and
 * prints what `JSON.parse` takes for the responses.
 */
const [url = '', mode] = process.argv.slice(2);
const parsed: Parsed = { bytes: 0, cpuMs: 0 };
const engine = createEngine({ controllerUrls: [url], brokerUrls: [url] });
let calls = 0;
let bytes = 0;
let queries = 0;

function counting(endpoint: EngineEndpoint): EngineEndpoint {
  return {
    url: endpoint.url,
    async request(request) {
      calls += 1;
      if (request.path === '/query/sql') queries += 1;
      const answer = await endpoint.request(request);
      bytes += Number(answer.headers['content-length'] ?? 0);
      return answer;
    },
    async deliver(request, sink) {
      calls += 1;
      await deliver(endpoint, request, {
        onAsked: (flow) => sink.onAsked(flow),
        onHeaders: (head) => sink.onHeaders(head),
        onData: (piece) => {
          bytes += piece.length;
          return sink.onData(piece);
        },
        onEnd: () => sink.onEnd(),
        onBroken: (error) => sink.onBroken(error),
      });
    },
  };
}

const observed = (endpoint: EngineEndpoint): EngineEndpoint =>
  mode === 'parse' ? parsing(endpoint, parsed) : counting(endpoint);

/** The instances of the stub have names without DNS records: all requests go to the stub. */
const counted: Engine = {
  controller: observed(engine.controller),
  brokerFor: async (tables, signal) => observed(await engine.brokerFor(tables, signal)),
  endpoint: () => observed(engine.endpoint(url)),
  close: () => engine.close(),
};

const gather = createGather({ engine: counted, clock: systemClock, kept: new KeptReadings() });

/** The figures of one run. `queries` of the calls are queries: each run sends one for each table. */
async function measured(): Promise<object> {
  [calls, bytes, queries] = [0, 0, 0];
  const cpuBefore = process.cpuUsage();
  const wallBefore = performance.now();
  const run = await runChecks({
    gather,
    settings: resolveSettings({}),
    signal: AbortSignal.timeout(600_000),
    clock: systemClock,
  });
  const cpu = process.cpuUsage(cpuBefore);
  return {
    calls,
    queries,
    bytes,
    cpuMs: (cpu.user + cpu.system) / 1_000,
    wallMs: performance.now() - wallBefore,
    checksMs: run.results.reduce((sum, { durationMs }) => sum + durationMs, 0),
    maxRssBytes: process.resourceUsage().maxRSS * 1_024,
    failed: run.results.filter(({ outcome }) => outcome.status === 'FAIL').map(({ name }) => name),
    unread: run.results
      .filter(({ outcome }) => outcome.couldNotEvaluate)
      .map(({ name, outcome }) => `${name}: ${outcome.findings[0]?.message}`),
  };
}

const first = await measured();
const figures = mode === 'parse' ? parsed : { first, second: await measured() };
process.stdout.write(`${JSON.stringify(figures)}\n`);
await engine.close();
