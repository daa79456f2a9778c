import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { applyManifests } from '../../support/kubernetes/manifests.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import type { Program } from '../../support/processes.ts';
import { startProduct } from '../../support/product-process.ts';

// An error that nothing handles does not end the service for everybody.

const NAMESPACE = 'olap';
/** Nothing listens there. */
const CONTROLLERS = 'http://127.0.0.1:9';
const env = { NODE_OPTIONS: `--import=${join(import.meta.dirname, '../../support/throwing-callbacks.ts')}` };

let api: ControlPlane | undefined;
let standalone: GatewayProcess | undefined;
const programs: Program[] = [];

beforeAll(async () => {
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  await applyManifests(api);
});
afterAll(async () => {
  for (const program of programs) program.signalGroup('SIGKILL');
  await standalone?.stop();
  await api?.stop();
});

interface Started {
  readonly program: Program;
  readonly metricsUrl: string;
}

async function startStandalone(): Promise<Started> {
  standalone = await GatewayProcess.start({ controllers: CONTROLLERS, env });
  return { program: standalone.program, metricsUrl: `http://127.0.0.1:${standalone.metricsPort}` };
}

const startCommand = (command: 'gateway' | 'operator') => (): Promise<Started> =>
  startProduct(api as ControlPlane, command, {
    namespace: NAMESPACE,
    settings: { controllers: CONTROLLERS },
    onStart: (program) => programs.push(program),
    env,
  });

async function counted(metricsUrl: string, origin: string): Promise<number> {
  const metrics = await (await fetch(`${metricsUrl}/metrics`)).text();
  return Number(
    new RegExp(`^olap_warden_unhandled_errors_total\\{origin="${origin}"\\} (\\d+)$`, 'm').exec(metrics)?.[1],
  );
}

describe.each([
  ['standalone', startStandalone],
  ['gateway', startCommand('gateway')],
  ['operator', startCommand('operator')],
])('%s', (_command, start) => {
  it('logs and counts errors that nothing handles, goes on, and stops as usual', async () => {
    const { program, metricsUrl } = await start();
    expect(await counted(metricsUrl, 'uncaughtException')).toBe(0);
    process.kill(program.pid, 'SIGUSR2');
    await expect.poll(() => counted(metricsUrl, 'uncaughtException'), { interval: 100 }).toBe(4);
    await expect.poll(() => counted(metricsUrl, 'unhandledRejection'), { interval: 100 }).toBe(2);
    for (const text of [
      'thrown in a timer',
      'an error event',
      '[unreadable]',
      'undefined',
      'rejected',
      'Symbol(not an error)',
    ])
      await program.printed(`"message":"${text}`, WAIT_LIMIT_MS);
    expect(program.output).toContain('an error was not handled; the process goes on');
    expect((await fetch(`${metricsUrl}/readyz`)).status).toBe(200);
    process.kill(program.pid, 'SIGTERM');
    expect(await program.exited).toBe(0);
  });
});
