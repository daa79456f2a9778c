import { createEngine } from '../../src/pinot/connection.ts';
import { deliver } from '../../src/pinot/delivery.ts';
import type { Engine, EngineEndpoint } from '../../src/pinot/types.ts';
import { createGather } from '../../src/health/gather/gather.ts';
import { runChecks } from '../../src/health/run.ts';
import { resolveSettings } from '../../src/health/settings.ts';
import { systemClock } from '../../src/platform/clock.ts';

/**
 * One health run in a separate process, to measure its CPU and memory: `node bench/workloads/health-run.ts <controller URL>`; prints
 * its figures as JSON.
 */
const url = process.argv[2] ?? '';
const engine = createEngine({ controllerUrls: [url], brokerUrls: [url] });
let calls = 0;
let bytes = 0;

function counting(endpoint: EngineEndpoint): EngineEndpoint {
  return {
    url: endpoint.url,
    async request(request) {
      calls += 1;
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

/** The instances of the stub have names without DNS records: all requests go to the stub. */
const counted: Engine = {
  controller: counting(engine.controller),
  brokerFor: async (tables, signal) => counting(await engine.brokerFor(tables, signal)),
  endpoint: () => counting(engine.endpoint(url)),
  close: () => engine.close(),
};

const cpuBefore = process.cpuUsage();
const wallBefore = performance.now();
const run = await runChecks({
  gather: createGather({ engine: counted, clock: systemClock }),
  settings: resolveSettings({}),
  signal: AbortSignal.timeout(600_000),
  clock: systemClock,
});
const cpu = process.cpuUsage(cpuBefore);
const unread = run.results
  .filter(({ outcome }) => outcome.couldNotEvaluate)
  .map(({ name, outcome }) => `${name}: ${outcome.findings[0]?.message}`);
const figures = {
  calls,
  bytes,
  cpuMs: (cpu.user + cpu.system) / 1_000,
  wallMs: performance.now() - wallBefore,
  checksMs: run.results.reduce((sum, { durationMs }) => sum + durationMs, 0),
  maxRssBytes: process.resourceUsage().maxRSS * 1_024,
  failed: run.results.filter(({ outcome }) => outcome.status === 'FAIL').map(({ name }) => name),
  unread,
};
process.stdout.write(`${JSON.stringify(figures)}\n`);
await engine.close();
