import type { ClusterHealthReportSpec } from '../resources/cluster-health-report.ts';
import { CATALOGUE, findCheck } from './catalogue.ts';
import { PREBUILT_SNAPSHOT_PROPERTY, type CheckDefinition, type Need, type Thresholds } from './check.ts';

export const DEFAULT_INTERVAL_MS = 20 * 60_000;
/** Below this a run would follow the other without a pause. */
const MIN_INTERVAL_MS = 1_000;
/** Timers take a signed 32-bit number of milliseconds. */
const MAX_INTERVAL_MS = 2 ** 31 - 1;
export const DEFAULT_MAX_FINDINGS = 20;

/** The property that thresholds of the process' own configuration stand in. */
export const CONFIGURED_THRESHOLDS = 'controller.cluster.health.thresholds';

/** Overrides by check name, then by threshold name. */
export type ThresholdOverrides = Readonly<Record<string, Thresholds>>;

export interface CheckSettings {
  /** The checks to run, in the order of the catalogue. */
  readonly checks: readonly CheckDefinition[];
  readonly overrides: ThresholdOverrides;
  readonly maxFindings: number;
  /** See `CheckInput`. */
  readonly prebuiltSnapshotProperty: string;
  /** What was wrong with the settings, for people; the default was taken for each. */
  readonly problems: readonly string[];
}

type SettingsSource = Pick<
  ClusterHealthReportSpec,
  'thresholds' | 'disabledChecks' | 'maxFindings' | 'prebuiltSnapshotProperty'
>;

/** What the process' own configuration says; the report's spec ranks above it. */
export interface ConfiguredSettings {
  readonly thresholds?: ThresholdOverrides;
  readonly prebuiltSnapshotProperty?: string | undefined;
}

/**
 * Settings from a report's spec: what is wrong is left at its default and said in `problems`.
 */
export function resolveSettings(spec: SettingsSource, configured: ConfiguredSettings = {}): CheckSettings {
  const problems: string[] = [];
  const disabled = new Set<string>();
  for (const name of spec.disabledChecks ?? []) {
    if (findCheck(name) === undefined) problems.push(`spec.disabledChecks: ${unknownCheck(name)}`);
    else disabled.add(name);
  }
  const overrides: Record<string, Thresholds> = {};
  const sources = [
    { place: CONFIGURED_THRESHOLDS, thresholds: configured.thresholds ?? {} },
    { place: 'spec.thresholds', thresholds: spec.thresholds ?? {} },
  ];
  for (const { place, thresholds } of sources) {
    for (const [name, values] of Object.entries(thresholds)) {
      const check = findCheck(name);
      if (check === undefined) problems.push(`${place}: ${unknownCheck(name)}`);
      else overrides[name] = { ...overrides[name], ...validThresholds(check, values, place, problems) };
    }
  }
  return {
    checks: CATALOGUE.filter((check) => !disabled.has(check.name)),
    overrides,
    maxFindings: spec.maxFindings ?? DEFAULT_MAX_FINDINGS,
    prebuiltSnapshotProperty:
      spec.prebuiltSnapshotProperty ?? configured.prebuiltSnapshotProperty ?? PREBUILT_SNAPSHOT_PROPERTY,
    problems,
  };
}

function validThresholds(check: CheckDefinition, values: Thresholds, place: string, problems: string[]): Thresholds {
  const valid: Record<string, number> = {};
  for (const [key, value] of Object.entries(values)) {
    const problem = thresholdProblem(check, key, value);
    if (problem === undefined) valid[key] = value;
    else problems.push(`${place}.${check.name}: ${problem}`);
  }
  const low = valid.minSkew ?? check.defaultThresholds.minSkew ?? Number.NEGATIVE_INFINITY;
  const high = valid.maxSkew ?? check.defaultThresholds.maxSkew ?? Number.POSITIVE_INFINITY;
  if (low <= high) return valid;
  problems.push(`${place}.${check.name}: \`minSkew\` ${low} is above \`maxSkew\` ${high}`);
  return {};
}

/** What is wrong with one threshold; undefined where nothing is. */
export function thresholdProblem(check: CheckDefinition, key: string, value: number): string | undefined {
  const known = Object.keys(check.defaultThresholds);
  if (!known.includes(key)) {
    const right = known.length === 0 ? 'this check has none' : `it knows ${known.map((k) => `\`${k}\``).join(', ')}`;
    return `unknown threshold \`${key}\`: ${right}`;
  }
  if (!Number.isFinite(value)) return `\`${key}\` is \`${value}\`, a finite number would be right`;
  if (key.endsWith('Skew')) return undefined;
  if (value < 0) return `\`${key}\` is \`${value}\`, a number of 0 or more would be right`;
  if (key.endsWith('Fraction') && value > 1)
    return `\`${key}\` is \`${value}\`, a number between 0 and 1 would be right`;
  return undefined;
}

export function unknownCheck(name: string): string {
  const words = name.toUpperCase().replaceAll(/[^A-Z0-9]+/gu, '_');
  const nearest = CATALOGUE.find((check) => check.name.startsWith(words) || check.name.includes(words));
  return `unknown check \`${name}\`${nearest === undefined ? '' : `; did you mean \`${nearest.name}\`?`}`;
}

/** The parts of the snapshot that the checks need together. */
export function needsOf(checks: readonly CheckDefinition[]): ReadonlySet<Need> {
  return new Set(checks.flatMap((check) => check.needs));
}

const UNITS: Readonly<Record<string, number>> = { ms: 1, s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/**
 * Milliseconds of a duration such as `20m` or `1h30m`, the form of `spec.interval`.
 * @returns undefined where the text is no duration, or one that no timer can hold (below 1 s, above 24 days)
 */
export function parseInterval(text: string): number | undefined {
  if (!/^(?:[0-9]+(?:ms|s|m|h|d))+$/u.test(text)) return undefined;
  let total = 0;
  for (const [, amount, unit] of text.matchAll(/([0-9]+)(ms|s|m|h|d)/gu)) {
    total += Number(amount) * (UNITS[unit ?? ''] ?? Number.NaN);
  }
  return total >= MIN_INTERVAL_MS && total <= MAX_INTERVAL_MS ? total : undefined;
}

/** Overrides from texts of the form `CHECK.threshold=value`. Names are checked by `resolveSettings`. */
export function parseThresholds(texts: readonly string[]): ThresholdOverrides {
  const overrides: Record<string, Record<string, number>> = {};
  for (const text of texts) {
    const [, check = '', threshold = '', value = ''] = /^([^.]+)\.([^=]+)=(.+)$/u.exec(text) ?? [];
    (overrides[check] ??= {})[threshold] = Number(value);
  }
  return overrides;
}
