import { defineCheck, type Thresholds } from '../check.ts';
import type { ClusterSnapshot, TableSnapshot } from '../snapshot.ts';
import { rounded } from '../numbers.ts';
import { Findings, have, tableFinding, tablesOf } from './shared/findings.ts';

const THRESHOLD_PROPERTY = 'controller.replication.threshold';

export const replication = defineCheck({
  name: 'REPLICATION_CHECK',
  specified: 6,
  title: 'Replication',
  description: 'The replication factor of a table is below the threshold of the controller, 3 if unspecified.',
  category: 'tables',
  severity: 'warning',
  defaultThresholds: { minReplication: 3 },
  remediation: 'Raise segmentsConfig.replication and rebalance the table.',
  madeFault: { where: 'live', fault: 'a table with 1 replica; a cluster with a threshold of 4', found: 'the table' },
  needs: ['tables', 'clusterConfig'],
  clusterThresholds,
  evaluate({ snapshot, thresholds: { minReplication }, overridden }) {
    const findings = new Findings();
    // A dimension table is on every server of its tenant; its replication has no effect.
    const tables = tablesOf(snapshot, findings).filter(({ config }) => !config.isDimension);
    // The cluster's configuration can have the threshold, which the settings override.
    const isKnown =
      tables.length === 0 ||
      overridden.has('minReplication') ||
      findings.value(snapshot.clusterConfig, 'cluster', snapshot.clusterName, 'the cluster configuration') !==
        undefined;
    for (const table of isKnown ? tables : []) {
      findings.examined();
      examineTable(table, minReplication, findings);
    }
    return findings.outcome({
      pass: `every table has a replication of at least ${rounded(minReplication)}`,
      fail: (count) => have(count, 'table', `a replication below ${rounded(minReplication)}`),
      notApplicable: 'not applicable: the cluster has no table',
    });
  },
});

function examineTable(table: TableSnapshot, minimum: number, findings: Findings): void {
  const configured = table.config.replication;
  const factor = Number(configured);
  if (Number.isNaN(factor) || configured === '') {
    const message = `the replication ${configured === undefined ? 'is not set' : `is \`${configured}\``}`;
    findings.add(tableFinding(table, message, configured ?? 'not set', `at least ${rounded(minimum)}`));
    return;
  }
  const [groups, kind] = fewestReplicaGroups(table);
  const effective = Math.min(factor, groups);
  if (effective >= minimum) return;
  const reason =
    effective === factor
      ? ''
      : `: the instance assignment \`${kind}\` has as many replica groups, which overrides the configured ${rounded(factor)}`;
  const message = `the replication is ${rounded(effective)}${reason}`;
  findings.add(tableFinding(table, message, rounded(effective), `at least ${rounded(minimum)}`));
}

/** The instance assignment of the table with the fewest replica groups: a segment has one replica in each of its groups. */
function fewestReplicaGroups({ config, type }: TableSnapshot): readonly [groups: number, kind: string] {
  let fewest: readonly [number, string] = [Number.POSITIVE_INFINITY, ''];
  for (const { name, replicaGroups } of config.instanceAssignments) {
    // Other names are those of storage tiers, or of the other part of a hybrid table.
    const applies = type === 'OFFLINE' ? name === 'OFFLINE' : name === 'CONSUMING' || name === 'COMPLETED';
    if (applies && replicaGroups !== undefined && replicaGroups < fewest[0]) fewest = [replicaGroups, name];
  }
  return fewest;
}

function clusterThresholds({ clusterConfig }: ClusterSnapshot): Thresholds {
  if (!clusterConfig.ok) return {};
  const value = Number(clusterConfig.value[THRESHOLD_PROPERTY] ?? Number.NaN);
  return Number.isInteger(value) && value > 0 ? { minReplication: value } : {};
}
