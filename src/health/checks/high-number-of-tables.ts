import { defineCheck } from '../check.ts';
import { Findings } from './shared/findings.ts';
import { loadByServer } from './shared/server-loads.ts';
import { serverLimitOutcome } from './shared/server-limit.ts';

export const highNumberOfTables = defineCheck({
  name: 'HIGH_NUMBER_OF_TABLES_CHECK',
  specified: 19,
  title: 'Many tables on a server',
  description: 'A server hosts more than 10 tables.',
  category: 'servers',
  severity: 'warning',
  defaultThresholds: { maxTables: 10 },
  remediation: 'Put tables on tenants of their own, or limit the servers of a table with its instance assignment.',
  madeFault: { where: 'lowered', fault: 'a server has one table more than allowed', found: 'the server' },
  needs: ['tables', 'enabled', 'assignment'],
  evaluate({ snapshot, thresholds: { maxTables } }) {
    const findings = new Findings();
    const { tables } = loadByServer(snapshot, findings);
    return serverLimitOutcome(tables, { limit: maxTables, noun: 'table' }, findings);
  },
});
