import type { CheckInput, CheckOutcome } from '../check.ts';
import { counted, enabledTables, Findings, have, rounded, tableFinding } from '../outcome.ts';
import type { Sample, SizeSummary, TableSnapshot } from '../snapshot.ts';

const NO_TABLES = 'not applicable: the cluster has no enabled table';

export function idealStateMismatch({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  for (const table of enabledTables(snapshot, findings)) {
    findings.examined();
    const difference = findings.value(table.difference, 'table', table.name, 'its ideal state and external view');
    if (difference === undefined || difference.segments.count === 0) continue;
    const { segments, viewMissing } = difference;
    const message = viewMissing
      ? `the table has no external view, so none of its ${counted(segments.count, 'segment')} is served`
      : `${have(segments.count, 'segment', 'another state in the external view than in the ideal state')}${examples(segments)}`;
    findings.add(tableFinding(table, message, counted(segments.count, 'segment'), '0 segments'));
  }
  return findings.outcome({
    pass: 'the external view of every enabled table equals its ideal state',
    fail: (count) => have(count, 'table', 'segments whose external view differs from the ideal state'),
    notApplicable: NO_TABLES,
  });
}

export function segmentsReload({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  for (const table of enabledTables(snapshot, findings)) {
    findings.examined();
    const reload = findings.value(table.reload, 'table', table.name, 'whether its segments need a reload');
    if (reload === undefined) continue;
    if (reload.needed.count > 0) {
      const where = counted(reload.needed.count, reload.unit);
      const message =
        reload.unit === 'server'
          ? `its segments need a reload on ${where}${examples(reload.needed)}`
          : `${where} ${reload.needed.count === 1 ? 'needs' : 'need'} a reload${examples(reload.needed)}`;
      findings.add(tableFinding(table, message, where, `0 ${reload.unit}s`));
    }
    for (const server of reload.silent) {
      findings.couldNotRead('table', table.name, `whether its segments on \`${server}\` need a reload`, 'no answer');
    }
  }
  return findings.outcome({
    pass: 'no segment needs a reload',
    fail: (count) => have(count, 'table', 'segments that need a reload'),
    notApplicable: NO_TABLES,
  });
}

export function segmentCount({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const limit = thresholds.maxSegments ?? 0;
  for (const table of enabledTables(snapshot, findings)) {
    findings.examined();
    const assignment = findings.value(table.assignment, 'table', table.name, 'its ideal state');
    if (assignment === undefined || assignment.segments <= limit) continue;
    findings.add(
      tableFinding(
        table,
        `the table has ${assignment.segments} segments`,
        counted(assignment.segments, 'segment'),
        `at most ${limit}`,
      ),
    );
  }
  return findings.outcome({
    pass: `no table has more than ${limit} segments`,
    fail: (count) => have(count, 'table', `more than ${limit} segments`),
    notApplicable: NO_TABLES,
  });
}

export function segmentSize({ snapshot, thresholds }: CheckInput): CheckOutcome {
  const findings = new Findings();
  const minSize = thresholds.minSizeMB ?? 0;
  const share = thresholds.maxSmallFraction ?? 0;
  for (const table of enabledTables(snapshot, findings)) {
    const size = findings.value(table.size, 'table', table.name, 'the sizes of its segments');
    if (size === undefined) continue;
    sizeFinding(table, size, { minSize, share }, findings);
  }
  return findings.outcome({
    pass: `in no table are more than ${rounded(share * 100)} % of the segments smaller than ${minSize} MB`,
    fail: (count) => have(count, 'table', 'too many small segments'),
    notApplicable: 'not applicable: no enabled table has a completed segment',
  });
}

function sizeFinding(
  table: TableSnapshot,
  size: SizeSummary,
  limits: { minSize: number; share: number },
  findings: Findings,
): void {
  if (size.measured === 0) {
    if (size.incomplete !== undefined) {
      findings.couldNotRead('table', table.name, 'the sizes of its segments', size.incomplete);
    }
    return;
  }
  findings.examined();
  if (size.small.count <= limits.share * size.measured) return;
  const observed = `${size.small.count} of ${size.measured} (${rounded((100 * size.small.count) / size.measured)} %)`;
  const note = size.incomplete === undefined ? '' : `; ${size.incomplete}`;
  findings.add(
    tableFinding(
      table,
      `${observed} completed segments are smaller than ${limits.minSize} MB${examples(size.small)}${note}`,
      observed,
      `at most ${rounded(limits.share * 100)} % below ${limits.minSize} MB`,
    ),
  );
}

export function segmentsTimePartition({ snapshot }: CheckInput): CheckOutcome {
  const findings = new Findings();
  for (const table of enabledTables(snapshot, findings)) {
    if (table.config.timeColumn === undefined || table.config.isDimension) continue;
    findings.examined();
    const segments = findings.value(table.segments, 'table', table.name, "its segments' metadata");
    if (segments === undefined || segments.outOfOrder.count === 0) continue;
    findings.add(
      tableFinding(
        table,
        `sorted by start and end time, ${have(segments.outOfOrder.count, 'segment', 'an end time before that of the previous segment')}${examples(segments.outOfOrder)}`,
        counted(segments.outOfOrder.count, 'segment'),
        '0 segments',
      ),
    );
  }
  return findings.outcome({
    pass: 'the segments of every table follow each other in time',
    fail: (count) => have(count, 'table', 'segments that lie within the time of others'),
    notApplicable: 'not applicable: no enabled table has a time column',
  });
}

/** ` (such as \`a\`, \`b\`)`, or nothing. */
function examples(sample: Sample): string {
  if (sample.names.length === 0) return '';
  const names = sample.names.slice(0, 3).map((name) => `\`${name}\``);
  return ` (${sample.count > names.length ? 'such as ' : ''}${names.join(', ')})`;
}
