import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { installed } from '../../../tools/pinot/jvm.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

/** Of prom-client: the metrics of Node and of the process. */
const NODE_METRIC = /^(?:process|nodejs)_/;
/** Of an operator on Kubernetes alone. */
const KUBERNETES_ONLY = [
  'olapwarden_operator_definitions_outdated',
  'olap_warden_pagination_cleaner_deletions_total',
  'olap_warden_pagination_cleaner_gateways_total',
];

describe('the metrics of a running process', () => {
  let service: Standalone;
  beforeAll(async () => {
    service = await startStandalone();
  });
  afterAll(() => service.stop());

  it('are those of docs/metrics.md, with the same types', async () => {
    const page = readFileSync(new URL('../../../docs/metrics.md', import.meta.url), 'utf8');
    const documented = new Map(
      [...page.matchAll(/^\| `([a-z_]+)` \| (\w+)/gm)].map(([, name, type]) => [name!, type!]),
    );
    const text = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    const exported = new Map([...text.matchAll(/^# TYPE (\S+) (\w+)$/gm)].map(([, name, type]) => [name!, type!]));
    for (const name of exported.keys()) if (NODE_METRIC.test(name)) exported.delete(name);
    for (const name of KUBERNETES_ONLY) expect(documented.delete(name)).toBe(true);
    expect(Object.fromEntries(exported)).toEqual(Object.fromEntries(documented));
  });
});

describe('without the metrics of Node', () => {
  let service: Standalone;
  beforeAll(async () => {
    service = await startStandalone({ 'node-metrics': 'false' });
  });
  afterAll(() => service.stop());

  it('promtool finds nothing to criticize', async () => {
    const input = await (await fetch(`${service.metricsUrl}/metrics`)).text();
    expect(input).not.toMatch(/^(?:process|nodejs)_/m);
    expect(input).toContain('olap_warden_health_runs_total');
    const promtool = join(await installed('prometheus'), 'promtool');
    const { status, stdout, stderr } = spawnSync(promtool, ['check', 'metrics'], { input, encoding: 'utf8' });
    expect(`${stdout}${stderr}`).toBe('');
    expect(status).toBe(0);
  });
});
