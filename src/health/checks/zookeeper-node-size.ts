import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import type { NodeSize } from '../snapshot.ts';
import { entityFinding, Findings, have, withSeverity } from './shared/findings.ts';

const KIB = 1024;

export const zookeeperNodeSize = defineCheck({
  name: 'ZOOKEEPER_NODE_SIZE_CHECK',
  title: 'Size of nodes in ZooKeeper',
  description:
    'An ideal state or external view takes more than 70 % of the size that ZooKeeper accepts for a node (`jute.maxbuffer`, 1,024 KiB by default).',
  category: 'segments',
  severity: 'warning',
  otherSeverity: 'critical',
  defaultThresholds: { maxBufferKiB: 1024, maxUsedPercent: 70, criticalUsedPercent: 90 },
  remediation:
    'Have fewer segments in the table: merge small ones, make new ones larger, or shorten the retention. Raise jute.maxbuffer on ZooKeeper and all instances only together.',
  madeFault: {
    where: 'lowered',
    fault: 'the ideal state is larger than the lowered limit',
    found: 'the table',
  },
  needs: ['nodeSizes'],
  evaluate({ snapshot, thresholds: { maxBufferKiB, maxUsedPercent, criticalUsedPercent } }) {
    const findings = new Findings();
    const nodes = findings.value(snapshot.nodeSizes, 'cluster', snapshot.clusterName, 'the sizes of its nodes');
    for (const node of nodes ?? []) {
      findings.examined();
      const percent = (100 * node.bytes) / (maxBufferKiB * KIB);
      if (percent <= maxUsedPercent) continue;
      const finding = findingOf(node, percent, { maxBufferKiB, maxUsedPercent });
      // A write of a larger node fails: no segment can be added, and no replica can change its state.
      findings.add(withSeverity(percent > criticalUsedPercent ? 'critical' : 'warning', finding));
    }
    return findings.outcome({
      pass: `no ideal state or external view takes more than ${rounded(maxUsedPercent)} % of ${rounded(maxBufferKiB)} KiB`,
      fail: (count) => have(count, 'node', 'a size near the limit of ZooKeeper'),
    });
  },
});

function findingOf(
  { name, kind, bytes }: NodeSize,
  percent: number,
  { maxBufferKiB, maxUsedPercent }: { readonly maxBufferKiB: number; readonly maxUsedPercent: number },
): ReturnType<typeof entityFinding> {
  const entityType = /_(?:OFFLINE|REALTIME)$/u.test(name) ? 'table' : 'cluster';
  const observed = `${rounded(bytes / KIB)} KiB`;
  const message = `its ${kind} takes ${observed} in ZooKeeper, ${rounded(percent)} % of the ${rounded(maxBufferKiB)} KiB that a node may have`;
  return entityFinding(entityType, name, message, observed, `at most ${rounded(maxUsedPercent)} %`);
}
