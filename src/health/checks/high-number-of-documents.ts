import { defineCheck } from '../check.ts';
import { enabledTables, Findings } from './shared/findings.ts';
import { increase } from './shared/server-loads.ts';
import { serverLimitOutcome } from './shared/server-limit.ts';

export const highNumberOfDocuments = defineCheck({
  name: 'HIGH_NUMBER_OF_DOCUMENTS_CHECK',
  specified: 18,
  title: 'Many documents on a server',
  description: 'A server hosts more than 1 billion documents.',
  category: 'servers',
  severity: 'warning',
  defaultThresholds: { maxDocuments: 1_000_000_000 },
  remediation: 'Add servers and rebalance, shorten the retention, or move old segments to another tier.',
  madeFault: { where: 'lowered', fault: 'a server has one row more than allowed', found: 'the server' },
  needs: ['tables', 'enabled', 'assignment', 'segmentMetadata', 'consumingRows'],
  evaluate({ snapshot, thresholds: { maxDocuments } }) {
    const findings = new Findings();
    const documents = new Map<string, number>();
    for (const table of enabledTables(snapshot, findings)) {
      const segments = findings.value(table.segments, 'table', table.name, 'the metadata of its segments');
      for (const [server, count] of segments?.documents ?? []) increase(documents, server, count);
      const rows = findings.value(table.consumingRows, 'table', table.name, 'the rows of its consuming segments');
      for (const [server, count] of rows?.servers ?? []) increase(documents, server, count);
    }
    return serverLimitOutcome(documents, { limit: maxDocuments, noun: 'document' }, findings);
  },
});
