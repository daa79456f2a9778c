import { defineCheck } from '../check.ts';
import type { Arrivals } from '../snapshot.ts';
import { enabledTables, Findings, have, tableFinding } from './shared/findings.ts';
import { timeText } from './shared/time-text.ts';

const HOUR_MS = 3_600_000;

interface FreshnessLimits extends Readonly<Record<string, number>> {
  readonly maxGaps: number;
  readonly minSilentHours: number;
}

const DEFAULTS: FreshnessLimits = { maxGaps: 3, minSilentHours: 6 };

export const dataFreshness = defineCheck({
  name: 'DATA_FRESHNESS_CHECK',
  title: 'Freshness of data',
  description:
    'A table that receives segments regularly has received none for more than 3 times its longest usual gap.',
  category: 'ingestion',
  severity: 'warning',
  defaultThresholds: DEFAULTS,
  remediation: 'Check the job that pushes the segments, or the producer of the stream.',
  madeFault: {
    where: 'lowered',
    fault: 'no segment for longer than between six earlier ones',
    found: 'the table, until the next segment',
  },
  needs: ['tables', 'enabled', 'assignment', 'segmentMetadata'],
  evaluate({ snapshot, thresholds, now }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      // Their segments are replaced as a whole, in no rhythm of their own.
      if (table.config.isRefresh || table.config.isDimension) continue;
      const segments = findings.value(table.segments, 'table', table.name, 'the metadata of its segments');
      if (segments?.arrivals === undefined) continue;
      const silentMs = now - segments.arrivals.last;
      const limitMs = Math.max(
        thresholds.maxGaps * segments.arrivals.longestGapMs,
        thresholds.minSilentHours * HOUR_MS,
      );
      if (!hasRhythm(segments.arrivals, Math.min(silentMs, limitMs))) continue;
      findings.examined();
      if (silentMs <= limitMs) continue;
      const usual = timeText(segments.arrivals.longestGapMs);
      const message = `no segment has arrived for ${timeText(silentMs)}; in the 30 days before, the longest time without one was ${usual}`;
      findings.add(tableFinding(table, message, timeText(silentMs), `at most ${timeText(limitMs)}`));
    }
    return findings.outcome({
      pass: 'every table that receives segments regularly has received one in its usual time',
      fail: (count) => have(count, 'table', 'received no segment for longer than usual'),
      notApplicable: 'not applicable: no enabled table receives segments regularly',
    });
  },
});

/**
 * Whether segments have arrived over at least this time. A table that was filled once has no rhythm, however many segments it has. The time
 * is at most the limit, so that a fault does not end by lasting.
 */
function hasRhythm({ first, last, longestGapMs }: Arrivals, minMs: number): boolean {
  return longestGapMs > 0 && last - first >= minMs && last - first >= 2 * longestGapMs;
}
