import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { parse } from 'yaml';
import { resolveSettings } from '../../../src/health/settings.ts';
import type { ClusterHealthReport } from '../../../src/resources/kinds.ts';
import { validateResource } from '../../../src/resources/validate.ts';
import { breakSample, mendSample, openGateway, type SampleGateway } from '../../../tools/dev/break.ts';

const SERVERS = ['Server_127.0.0.1_8098', 'Server_127.0.0.1_8099'];
const FINDING = { entity: 'types_OFFLINE', message: 'a segment has no online replica' };

/** A gateway whose report fails while a server is disabled. */
function sample(tables = ['types', 'customers', 'orders'], servers = SERVERS): SampleGateway & { writes: string[] } {
  const disabled = new Set<string>();
  const writes: string[] = [];
  const call = async (method: string, path: string, body = ''): Promise<unknown> => {
    if (path === '/tables') return { tables };
    if (path === '/instances') return { instances: ['Broker_127.0.0.1_8000', ...servers] };
    if (path === '/tables/types/idealstate')
      return { OFFLINE: { types_0: { [SERVERS[1]!]: 'ONLINE' } }, REALTIME: null };
    if (method === 'POST') {
      writes.push(`${path} ${body}`);
      const server = path.split('/')[2]!;
      if (body === 'disable') disabled.add(server);
      else disabled.delete(server);
      return { status: 'done' };
    }
    const check = { name: 'QUERY_HEALTH_CHECK', severity: 'critical', message: 'one table is unavailable' };
    return disabled.size === 0
      ? { status: 'PASS', summary: { pass: 1, fail: 0 }, checks: [{ ...check, findings: [] }] }
      : { status: 'FAIL', summary: { pass: 0, fail: 1 }, checks: [{ ...check, findings: [FINDING] }] };
  };
  return { url: 'http://localhost:8080', call, writes };
}

it('`make break` disables the only server of a table and prints the failed checks with their runbooks', async () => {
  const gateway = sample();
  expect(await breakSample(gateway)).toBe(
    [
      'Disabled `Server_127.0.0.1_8099`, the only server of the table `types`.',
      '0 checks passed, 1 failed',
      '  FAIL QUERY_HEALTH_CHECK (critical): one table is unavailable',
      '       types_OFFLINE: a segment has no online replica',
      '       runbook: http://localhost:8080/docs/checks/QUERY_HEALTH_CHECK',
      'Dashboard: http://localhost:8080/ui/health',
      '`make mend` enables it again.',
    ].join('\n'),
  );
  expect(gateway.writes).toEqual([`/instances/${SERVERS[1]}/state disable`]);
  expect(await mendSample(gateway)).toContain('Enabled all servers.\n1 checks passed, 0 failed');
  expect(gateway.writes.slice(1)).toEqual(SERVERS.map((server) => `/instances/${server}/state enable`));
});

it.each([
  ['other tables', sample(['orders'])],
  ['a server on another host', sample(undefined, ['Server_10.0.0.7_8098'])],
])('both change nothing in a cluster with %s', async (_, gateway) => {
  await expect(breakSample(gateway)).rejects.toThrow('this is not the sample cluster');
  await expect(mendSample(gateway)).rejects.toThrow('this is not the sample cluster');
  expect(gateway.writes).toEqual([]);
});

it('both say that `make run` must be started first', async () => {
  await expect(openGateway({ DATA_DIR: '/nowhere' }, '/')).rejects.toThrow('start `make run` first');
});

it('the report of the sample is valid', async () => {
  const file = join(import.meta.dirname, '../../../tools/dev/sample-health.yaml');
  const report = parse(await readFile(file, 'utf8')) as ClusterHealthReport;
  expect(validateResource('ClusterHealthReport', report)).toMatchObject({ ok: true });
  expect(resolveSettings(report.spec).problems).toEqual([]);
});
