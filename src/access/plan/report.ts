import type { ShownConditions } from '../policy/conditions/partly-allowed.ts';
import { KINDS_WITH_ACTIONS } from '../policy/action-kinds.ts';
import type { Direction, ShownReading } from './changes.ts';
import {
  describeActions,
  describeExtents,
  isEveryAction,
  isEverything,
  isOneName,
  listed,
  quoted,
  shownExtent,
} from './describe.ts';
import type { AccessPlan, CausedChange, Cause, ChangesOf, ExpiryChange, Who } from './plan.ts';

/** A cause with the place of the file that has it; undefined where it is not in a file. */
export interface PlacedCause extends Cause {
  readonly place: string | undefined;
}

/** One line of a report. */
export interface ReportLine {
  readonly directions: readonly Direction[];
  /** After `gains` or `loses`, with names in backticks. */
  readonly text: string;
  readonly causes: readonly PlacedCause[];
  readonly details: object;
}

/** Subjects and roles with the same changes. */
export interface ReportEntry {
  readonly whos: readonly Who[];
  readonly lines: readonly ReportLine[];
}

export interface AccessReport {
  readonly entries: readonly ReportEntry[];
  readonly tooMuch: readonly Who[];
  readonly compared: number;
  /** Number of subjects and roles that gain, and that lose. */
  readonly gaining: number;
  readonly losing: number;
  /** Whether some of them gain a change of access: of roles, policies, assignments or service tokens. */
  readonly gainsAdministration: boolean;
}

/** @param placeOf the place of a cause, such as `access/policies.yaml:12` */
export function reportOf(plan: AccessPlan, placeOf: (cause: Cause) => string | undefined): AccessReport {
  const entries = new Map<string, { whos: Who[]; lines: ReportLine[] }>();
  for (const changes of plan.changed) {
    const lines = linesOf(changes, placeOf);
    const key = JSON.stringify(lines.map(({ directions, text }) => [directions, text]));
    const entry = entries.get(key);
    if (entry === undefined) entries.set(key, { whos: [changes.who], lines });
    else {
      entry.whos.push(changes.who);
      for (const [at, line] of entry.lines.entries()) entry.lines[at] = { ...line, causes: united([line, lines[at]!]) };
    }
  }
  const count = (direction: Direction): number =>
    plan.changed.filter(({ changes, expiries }) => {
      const inChanges = changes.some(({ directions }) => directions.includes(direction));
      return inChanges || expiries.some((expiry) => directionOf(expiry) === direction);
    }).length;
  return {
    entries: [...entries.values()],
    tooMuch: plan.tooMuch,
    compared: plan.compared,
    gaining: count('gain'),
    losing: count('loss'),
    gainsAdministration: plan.changed.some(({ changes }) => changes.some(isAdministration)),
  };
}

/** Of those with actions that only read. */
const READS = /^(?:Get|Query$)/u;

function isAdministration({ directions, kind, actions }: CausedChange): boolean {
  const onAccess = kind === 'role' || kind === 'policy' || kind === 'service-token';
  return onAccess && directions.includes('gain') && actions.some((action) => !READS.test(action));
}

function linesOf({ changes, expiries }: ChangesOf, placeOf: (cause: Cause) => string | undefined): ReportLine[] {
  const lines = [...groups(changes)].map((group) => lineOf(group, placeOf));
  return [...lines, ...expiries.map((expiry) => expiryLine(expiry, placeOf))];
}

/** Changes that one line describes: the same actions on several names, or every action on everything. */
function groups(changes: readonly CausedChange[]): Iterable<readonly CausedChange[]> {
  const grouped = Map.groupBy(changes, (change) => {
    const { directions, kind, actions, extent, reading } = change;
    if (isWhole(change)) return `whole ${directions.join()}`;
    const same = JSON.stringify([directions, kind, actions, reading]);
    return isOneName(kind, extent) ? same : `${same} ${JSON.stringify(shownExtent(kind, extent))}`;
  });
  return Iterator.from(grouped.values()).flatMap((group) => {
    const isAll = group.length === KINDS_WITH_ACTIONS.length || !isWhole(group[0]!);
    return isAll ? [group] : group.map((change) => [change]);
  });
}

function isWhole({ kind, actions, extent, reading }: CausedChange): boolean {
  return reading === undefined && isEverything(extent) && isEveryAction(kind, actions);
}

function lineOf(group: readonly CausedChange[], placeOf: (cause: Cause) => string | undefined): ReportLine {
  const [{ directions, kind, actions, reading }] = group as [CausedChange, ...CausedChange[]];
  const extents = group.map(({ extent }) => extent);
  const isAll = group.length > 1 && isWhole(group[0]!);
  const patterns = group.flatMap((change) => change.patterns);
  const what = isAll
    ? 'every action on everything'
    : `${describeActions(kind, actions, patterns)} on ${describeExtents(kind, extents)}`;
  return {
    directions,
    text: reading === undefined ? what : `${what}: ${describeReading(reading)}`,
    causes: united(group.map((change) => ({ causes: placed(change.causes, placeOf) }))),
    details: {
      ...(isAll
        ? { everything: true }
        : { kind, actions, resources: extents.map((extent) => shownExtent(kind, extent)) }),
      ...reading,
    },
  };
}

function united(lines: readonly Pick<ReportLine, 'causes'>[]): PlacedCause[] {
  const causes = lines.flatMap((line) => line.causes);
  return [...new Map(causes.map((cause) => [JSON.stringify(cause), cause])).values()];
}

function describeReading({ before, after }: { readonly before: ShownReading; readonly after: ShownReading }): string {
  if (before === 'nothing') return describeConditions(after);
  if (after === 'nothing') return `had ${describeConditions(before)}`;
  return `${describeConditions(after)}; before ${describeConditions(before)}`;
}

function describeConditions(reading: ShownReading): string {
  if (reading === 'everything') return 'all rows and columns';
  if (reading === 'nothing') return 'nothing';
  const { rowFilters, columns }: ShownConditions = reading;
  const rows = rowFilters?.map((all) => all.map(quoted).join(' and ')).join(' or ');
  const mask = Object.entries(columns?.mask ?? {}).map(([name, text]) => `${quoted(name)} as ${quoted(text)}`);
  return [
    rows === undefined ? 'all rows' : `rows where ${rows}`,
    ...(columns?.allow ? [`only the columns ${listed(columns.allow.map(quoted))}`] : []),
    ...(columns?.deny ? [`without the columns ${listed(columns.deny.map(quoted))}`] : []),
    ...(mask.length > 0 ? [`with ${listed(mask)}`] : []),
  ].join(', ');
}

function directionOf({ before, after }: ExpiryChange): Direction {
  return before === undefined || after > before ? 'gain' : 'loss';
}

function expiryLine(expiry: ExpiryChange, placeOf: (cause: Cause) => string | undefined): ReportLine {
  const { role, before, after, causes } = expiry;
  return {
    directions: [directionOf(expiry)],
    text: `role ${quoted(role)} ${until(after)}${before === undefined ? '' : ` instead of ${until(before)}`}`,
    causes: placed(causes, placeOf),
    details: { role, until: isoOf(after), ...(before !== undefined && { before: isoOf(before) }) },
  };
}

/** The causes with their places. */
function placed(causes: readonly Cause[], placeOf: (cause: Cause) => string | undefined): PlacedCause[] {
  const withPlace = (cause: Cause): PlacedCause => ({ ...cause, place: placeOf(cause) });
  return causes.map(withPlace);
}

function until(time: number): string {
  return time === Infinity ? 'without an end' : `until ${isoOf(time)}`;
}

function isoOf(time: number): string | null {
  return Number.isFinite(time) ? new Date(time).toISOString() : null;
}
