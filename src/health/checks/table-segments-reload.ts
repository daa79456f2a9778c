import { defineCheck } from '../check.ts';
import type { ReloadSummary } from '../snapshot.ts';
import { counted, enabledTables, examples, Findings, have, tableFinding } from './shared/findings.ts';

const ONE_REPLICA =
  ' as far as it is known: this engine version reports one replica of each segment, another one in each run';

export const tableSegmentsReload = defineCheck({
  name: 'TABLE_SEGMENTS_RELOAD_CHECK',
  specified: 2,
  title: 'Segments that need a reload',
  description: 'A table has segments that need a reload to follow its configuration and schema.',
  category: 'segments',
  severity: 'warning',
  defaultThresholds: {},
  remediation: 'Reload the segments of the table: POST /segments/{tableNameWithType}/reload.',
  madeFault: { where: 'live', fault: 'an index is added to the configuration', found: 'the table, until its reload' },
  needs: ['tables', 'enabled', 'assignment', 'reload'],
  evaluate({ snapshot }) {
    const findings = new Findings();
    let oneReplica = false;
    for (const table of enabledTables(snapshot, findings)) {
      findings.examined();
      const reload = findings.value(table.reload, 'table', table.name, 'the reload status of its segments');
      if (reload === undefined) continue;
      const { needed, unit, silent } = reload;
      oneReplica ||= reload.oneReplica;
      if (needed.count > 0) {
        findings.add(tableFinding(table, reloadMessage(reload), counted(needed.count, unit), `0 ${unit}s`));
      }
      for (const server of silent) {
        findings.couldNotRead('table', table.name, `the reload status of its segments on \`${server}\``, 'no response');
      }
    }
    return findings.outcome({
      pass: `no segment needs a reload${oneReplica ? ONE_REPLICA : ''}`,
      fail: (count) => have(count, 'table', 'segments that need a reload'),
      notApplicable: 'not applicable: the cluster has no enabled table',
    });
  },
});

function reloadMessage({ needed, unit }: ReloadSummary): string {
  const observed = counted(needed.count, unit);
  if (unit === 'server') return `its segments need a reload on ${observed}${examples(needed)}`;
  return `${observed} ${needed.count === 1 ? 'needs' : 'need'} a reload${examples(needed)}`;
}
