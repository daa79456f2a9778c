import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import type { DiskUsage } from '../snapshot.ts';
import { entityFinding, Findings, have, instancesOf, withSeverity } from './shared/findings.ts';

const GB = 1024 ** 3;

export const serverDiskUsage = defineCheck({
  name: 'SERVER_DISK_USAGE_CHECK',
  title: 'Disks of servers',
  description: 'The disk of a live server is more than 85 % full.',
  category: 'servers',
  severity: 'warning',
  otherSeverity: 'critical',
  defaultThresholds: { maxUsedPercent: 85, criticalUsedPercent: 95 },
  remediation:
    'Enlarge the disk, add servers and rebalance, shorten the retention, or move old segments to another tier.',
  madeFault: {
    where: 'recorded',
    fault: 'responses of 1.5 with a lowered threshold (0.11 reports no disk)',
    found: 'the servers',
  },
  needs: ['instances', 'instanceHealth', 'disks'],
  evaluate({ snapshot, thresholds: { maxUsedPercent, criticalUsedPercent } }) {
    const findings = new Findings();
    instancesOf(snapshot, findings);
    for (const [server, read] of snapshot.disks) {
      const usage = findings.value(read, 'server', server, 'how full its disk is');
      if (usage === undefined) continue;
      findings.examined();
      const percent = (100 * usage.usedBytes) / usage.totalBytes;
      if (percent <= maxUsedPercent) continue;
      const expected = `at most ${rounded(maxUsedPercent)} %`;
      const finding = entityFinding('server', server, message(usage, percent), `${rounded(percent)} %`, expected);
      // A server with a full disk stops consuming and cannot load segments.
      findings.add(
        percent > criticalUsedPercent ? withSeverity('critical', finding) : withSeverity('warning', finding),
      );
    }
    return findings.outcome({
      pass: `no server uses more than ${rounded(maxUsedPercent)} % of its disk`,
      fail: (count) => have(count, 'server', 'a nearly full disk'),
      notApplicable: 'not applicable: no live server reports how full its disk is (Pinot 0.11 does not)',
    });
  },
});

function message({ path, totalBytes, usedBytes }: DiskUsage, percent: number): string {
  const free = Math.max(0, totalBytes - usedBytes) / GB;
  const where = path === '' ? 'its disk' : `the disk of \`${path}\``;
  return `${where} is ${rounded(percent)} % full: ${rounded(free)} of ${rounded(totalBytes / GB)} GB are free`;
}
