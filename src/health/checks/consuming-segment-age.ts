import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import type { ConsumingSegment, TableSnapshot } from '../snapshot.ts';
import { counted, enabledTables, examples, Findings, have, tableFinding } from './shared/findings.ts';
import { timeText } from './shared/time-text.ts';

const MINUTE_MS = 60_000;

type NamedSegment = readonly [name: string, segment: ConsumingSegment];

export const consumingSegmentAge = defineCheck({
  name: 'CONSUMING_SEGMENT_AGE_CHECK',
  title: 'Age of consuming segments',
  description:
    'A consuming segment with rows is older than twice the flush time of its table (`realtime.segment.flush.threshold.time`), and its rows have been seen for 60 minutes.',
  category: 'ingestion',
  severity: 'warning',
  defaultThresholds: { maxFlushTimes: 2, minRowsMinutes: 60 },
  remediation:
    'Read why the segment is not committed in the log of its servers and of the lead controller of the table; check that the controller can write to the deep store.',
  madeFault: {
    where: 'lowered',
    fault:
      'the flush time of the table is shortened below the age of its consuming segment, which keeps the earlier one',
    found: 'the table',
  },
  needs: ['tables', 'enabled', 'assignment', 'segmentMetadata', 'consumingRows'],
  evaluate({ snapshot, thresholds: { maxFlushTimes, minRowsMinutes }, now }) {
    const findings = new Findings();
    for (const table of enabledTables(snapshot, findings)) {
      if (table.type !== 'REALTIME') continue;
      // Without it, no segment has an age.
      const metadata = findings.value(table.segments, 'table', table.name, 'the metadata of its segments');
      const rows = findings.value(table.consumingRows, 'table', table.name, 'the rows of its consuming segments');
      if (metadata === undefined || rows === undefined || rows.segments.size === 0) continue;
      findings.examined();
      const limitMs = maxFlushTimes * table.config.flushTimeMs;
      const isOld = ([, { createdAt, withRowsMs }]: NamedSegment): boolean =>
        now - createdAt > limitMs && withRowsMs >= minRowsMinutes * MINUTE_MS;
      const old = [...rows.segments].filter(isOld).toSorted(([, a], [, b]) => a.createdAt - b.createdAt);
      if (old[0] === undefined) continue;
      const age = timeText(now - old[0][1].createdAt);
      findings.add(tableFinding(table, messageOf(old, age, table), age, `at most ${timeText(limitMs)}`));
    }
    return findings.outcome({
      pass: `no consuming segment with rows is older than ${rounded(maxFlushTimes)} times the flush time of its table`,
      fail: (count) => have(count, 'table', 'consuming segments that are not committed in time'),
      notApplicable: 'not applicable: no enabled realtime table has a consuming segment with rows and numeric offsets',
    });
  },
});

/** @param old oldest first @param age of the first one */
function messageOf(old: readonly NamedSegment[], age: string, { config }: TableSnapshot): string {
  const names = old.map(([name]) => name);
  const rows = old[0]?.[1].rows ?? 0;
  const segments = `${have(old.length, 'consuming segment', 'rows')} and ${old.length === 1 ? 'is' : 'are'} not committed${examples({ count: names.length, names })}`;
  const oldest = `${old.length === 1 ? 'it' : 'the oldest'} was created ${age} ago and has ${counted(rows, 'row')}`;
  return `${segments}: ${oldest}; the flush time of the table is ${timeText(config.flushTimeMs)}`;
}
