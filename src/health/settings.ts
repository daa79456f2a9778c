import { formatDuration, parseDuration } from '../platform/duration.ts';
import type { ClusterHealthReportSpec } from '../resources/cluster-health-report.ts';
import { nearest } from '../resources/nearest.ts';
import { CATALOGUE, findCheck, originOf } from './catalogue.ts';
import { PREBUILT_SNAPSHOT_PROPERTY, type CheckDefinition, type Need, type Thresholds } from './check.ts';

export const DEFAULT_INTERVAL_MS = 20 * 60_000;
/** Shorter intervals would run the checks of a large cluster without a pause. */
const MIN_INTERVAL_MS = 60_000;
/** Timers take a signed 32-bit number of milliseconds. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;
const DEFAULT_MAX_FINDINGS = 20;
const DEFAULT_FULL_READ_MS = 6 * 3_600_000;
/** What is cheap to read is read within seconds; this bounds the wait for what is not. */
const DEFAULT_DEADLINE_MS = 5 * 60_000;
const MIN_DEADLINE_MS = 10_000;
/** Longer than the restart of a server, and shorter than the time in which a second one usually fails. */
export const DEFAULT_CRITICAL_AFTER_MS = 3_600_000;

/** The property with the thresholds of the process's configuration. */
const CONFIGURED_THRESHOLDS = 'controller.cluster.health.thresholds';

/** Overrides by check name, then by threshold name. */
export type ThresholdOverrides = Readonly<Record<string, Thresholds>>;

export interface CheckSettings {
  /** The checks to run, in the order of the catalogue. */
  readonly checks: readonly CheckDefinition[];
  readonly overrides: ThresholdOverrides;
  readonly maxFindings: number;
  /** Milliseconds after which what seems unchanged is read again. */
  readonly fullReadMs: number;
  /** Milliseconds after which a run ends and reports what it has read. */
  readonly deadlineMs: number;
  /** Milliseconds after which lost replicas are critical. */
  readonly criticalAfterMs: number;
  /** See `CheckInput`. */
  readonly prebuiltSnapshotProperty: string;
  /** Messages about invalid settings; the default replaces each of them. */
  readonly problems: readonly string[];
}

type SettingsSource = Pick<
  ClusterHealthReportSpec,
  | 'thresholds'
  | 'disabledChecks'
  | 'maxFindings'
  | 'prebuiltSnapshotProperty'
  | 'extensionChecks'
  | 'fullReadInterval'
  | 'deadline'
  | 'criticalAfter'
>;

/** Settings from the process's configuration; the report's spec overrides them. */
export interface ConfiguredSettings {
  readonly thresholds?: ThresholdOverrides;
  readonly prebuiltSnapshotProperty?: string | undefined;
  /** Whether the checks beyond the specification run; true by default. */
  readonly extensionChecks?: boolean | undefined;
  /** Scheme of the instances' `/health` endpoints; `http` by default. */
  readonly instanceScheme?: InstanceScheme | undefined;
}

export type InstanceScheme = 'http' | 'https';

/** The settings of a run. An invalid setting keeps its default and adds a message to `problems`. */
export function resolveSettings(spec: SettingsSource, configured: ConfiguredSettings = {}): CheckSettings {
  const problems: string[] = [];
  const disabled = disabledChecks(spec, problems);
  const overrides: Record<string, Thresholds> = {};
  const sources = [
    { source: CONFIGURED_THRESHOLDS, thresholds: configured.thresholds ?? {} },
    { source: 'spec.thresholds', thresholds: spec.thresholds ?? {} },
  ];
  for (const { source, thresholds } of sources) {
    for (const [name, values] of Object.entries(thresholds)) {
      const check = findCheck(name);
      if (check === undefined) problems.push(`${source}: ${unknownCheck(name)}`);
      else overrides[name] = { ...overrides[name], ...validThresholds(check, values, source, problems) };
    }
  }
  const extensions = spec.extensionChecks ?? configured.extensionChecks ?? true;
  return {
    checks: CATALOGUE.filter(({ name }) => !disabled.has(name) && (extensions || originOf(name) === 'specification')),
    overrides,
    maxFindings: spec.maxFindings ?? DEFAULT_MAX_FINDINGS,
    fullReadMs: duration(spec, 'fullReadInterval', { minMs: MIN_INTERVAL_MS, ms: DEFAULT_FULL_READ_MS }, problems),
    deadlineMs: duration(spec, 'deadline', { minMs: MIN_DEADLINE_MS, ms: DEFAULT_DEADLINE_MS }, problems),
    criticalAfterMs: duration(
      spec,
      'criticalAfter',
      { minMs: MIN_INTERVAL_MS, ms: DEFAULT_CRITICAL_AFTER_MS },
      problems,
    ),
    prebuiltSnapshotProperty:
      spec.prebuiltSnapshotProperty ?? configured.prebuiltSnapshotProperty ?? PREBUILT_SNAPSHOT_PROPERTY,
    problems,
  };
}

function disabledChecks(spec: SettingsSource, problems: string[]): ReadonlySet<string> {
  const disabled = new Set<string>();
  for (const name of spec.disabledChecks ?? []) {
    if (findCheck(name) === undefined) problems.push(`spec.disabledChecks: ${unknownCheck(name)}`);
    else disabled.add(name);
  }
  return disabled;
}

/** A duration of the spec; its default `ms` if it is absent or invalid. */
function duration(
  spec: SettingsSource,
  field: 'fullReadInterval' | 'deadline' | 'criticalAfter',
  { minMs, ms }: { readonly minMs: number; readonly ms: number },
  problems: string[],
): number {
  const text = spec[field];
  if (text === undefined) return ms;
  const parsed = parseInterval(text, minMs);
  if (parsed !== undefined) return parsed;
  const [least, byDefault] = [formatDuration(minMs), formatDuration(ms)];
  problems.push(`spec.${field}: \`${text}\` is not a duration between ${least} and 24d, such as \`${byDefault}\``);
  return ms;
}

function validThresholds(check: CheckDefinition, values: Thresholds, source: string, problems: string[]): Thresholds {
  const valid: Record<string, number> = {};
  for (const [key, value] of Object.entries(values)) {
    const problem = thresholdProblem(check, key, value);
    if (problem === undefined) valid[key] = value;
    else problems.push(`${source}.${check.name}: ${problem}`);
  }
  const low = valid.minSkew ?? check.defaultThresholds.minSkew ?? Number.NEGATIVE_INFINITY;
  const high = valid.maxSkew ?? check.defaultThresholds.maxSkew ?? Number.POSITIVE_INFINITY;
  if (low <= high) return valid;
  problems.push(
    `${source}.${check.name}: \`minSkew\` is ${low} and \`maxSkew\` is ${high}; expected \`minSkew\` to be at most \`maxSkew\``,
  );
  return {};
}

/** A message about an invalid threshold; undefined if it is valid. */
export function thresholdProblem(check: CheckDefinition, key: string, value: number): string | undefined {
  const known = Object.keys(check.defaultThresholds);
  if (!known.includes(key)) {
    const names = known.map((name) => `\`${name}\``).join(', ');
    const meant = nearest(key, known);
    const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`;
    return `unknown threshold \`${key}\`: the check has ${known.length === 0 ? 'no thresholds' : names}${hint}`;
  }
  if (!Number.isFinite(value)) return `\`${key}\` is \`${value}\`, expected a finite number`;
  if (key.endsWith('Skew')) return undefined;
  if (value < 0) return `\`${key}\` is \`${value}\`, expected a number of at least 0`;
  if (key.endsWith('Fraction') && value > 1) return `\`${key}\` is \`${value}\`, expected a number between 0 and 1`;
  return undefined;
}

/** A message about an unknown check, with the nearest name as a suggestion. */
export function unknownCheck(name: string): string {
  const normalized = name.toUpperCase().replaceAll(/[^A-Z0-9]+/gu, '_');
  const names = CATALOGUE.map((check) => check.name);
  const meant =
    (normalized === '' ? undefined : names.find((known) => known.includes(normalized))) ??
    nearest(normalized, names) ??
    nearest(`${normalized}_CHECK`, names);
  return `unknown check \`${name}\`${meant === undefined ? '' : `; did you mean \`${meant}\`?`}`;
}

/** All parts of the snapshot that these checks need. */
export function needsOf(checks: readonly CheckDefinition[]): ReadonlySet<Need> {
  return new Set(checks.flatMap((check) => check.needs));
}

/**
 * Parses `spec.interval`, such as `20m` or `1h30m`.
 * @returns milliseconds; undefined if the text is not a duration, or not between `minMs` and 24 days (the longest timer)
 */
export function parseInterval(text: string, minMs = MIN_INTERVAL_MS): number | undefined {
  const total = parseDuration(text);
  if (total === undefined) return undefined;
  return total >= minMs && total <= MAX_INTERVAL_MS ? total : undefined;
}

/** Parses overrides of the form `CHECK.threshold=value`; `resolveSettings` validates the names. */
export function parseThresholds(texts: readonly string[]): ThresholdOverrides {
  const overrides: Record<string, Record<string, number>> = {};
  for (const text of texts) {
    const [, check = '', threshold = '', value = ''] = /^([^.]+)\.([^=]+)=(.+)$/u.exec(text) ?? [];
    (overrides[check] ??= {})[threshold] = Number(value);
  }
  return overrides;
}
