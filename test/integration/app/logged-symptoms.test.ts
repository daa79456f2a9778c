import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, describe, it } from 'vitest';
import type { Boot } from '../../../src/app/parts/boot.ts';
import { openKubernetesStore } from '../../../src/app/parts/kubernetes.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { until } from '../../support/until.ts';
import { loggedLines } from '../../unit/operator/fakes.ts';

// The texts of logs that docs/operations.md lists as symptoms, by their causes.
const cleanups: (() => Promise<unknown> | undefined)[] = [];
afterEach(async () => {
  for (const clean of cleanups.splice(0).toReversed()) await clean();
});

describe('the log says', () => {
  it('that a changed configuration file is rejected', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-symptoms-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const config = join(folder, 'gateway.properties');
    await writeFile(config, 'olap.broker.query.page.size=3\n');
    const gateway = await GatewayProcess.start({ controllers: 'http://127.0.0.1:9', flags: { config } });
    cleanups.push(() => gateway.stop());
    await writeFile(config, 'olap.broker.query.page.size=none\n');
    await gateway.program.printed('configuration file rejected; keeping the current properties', WAIT_LIMIT_MS);
  });

  it('that the process before ended while it wrote an audit record', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-symptoms-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    await writeFile(join(folder, 'audit.access.jsonl'), '{"version":1,"type":"wri');
    const flags = { 'audit-file': join(folder, 'audit.jsonl') };
    const gateway = await GatewayProcess.start({ controllers: 'http://127.0.0.1:9', flags });
    cleanups.push(() => gateway.stop());
    await gateway.program.printed('the last record of the audit file is incomplete', WAIT_LIMIT_MS);
  });

  it('that the Kubernetes API does not respond', async () => {
    const [port] = await freePorts(1);
    const config = new KubeConfig();
    config.loadFromClusterAndUser(
      { name: 'c', server: `http://127.0.0.1:${port}`, skipTLSVerify: false },
      { name: 'u', token: 'a-token' },
    );
    const transport = new KubernetesTransport(() => config, { namespace: 'olap' });
    cleanups.push(() => transport.close());
    const { log, lines } = loggedLines();
    const closers = { defer: (_name: string, close: () => Promise<unknown>) => void cleanups.push(close) };
    openKubernetesStore({ log, closers } as unknown as Boot, transport);
    await until('the failure is logged', () => lines.some(({ msg }) => msg === 'resource watch failed; retrying'));
  });
});
