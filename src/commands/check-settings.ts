import { readFile, stat } from 'node:fs/promises';
import { parseDocument } from 'yaml';
import { errorMessage } from '../platform/plain-error.ts';
import { CATALOGUE, findCheck, originOf } from '../health/catalogue.ts';
import { muteProblems } from '../health/report/mutes.ts';
import { resolveSettings, thresholdProblem, unknownCheck, type CheckSettings } from '../health/settings.ts';
import type { ClusterHealthReportSpec } from '../resources/cluster-health-report.ts';
import type { Mute } from '../resources/health-mute.ts';
import { API_VERSION } from '../resources/meta.ts';
import { describeErrors, validateResource } from '../resources/validate.ts';

/** Findings per check in a report, unless the file has `maxFindings`. */
const MAX_FINDINGS = 200;
const MAX_CONFIG_BYTES = 1024 * 1024;

export interface CheckOptions {
  readonly only: readonly string[];
  readonly exclude: readonly string[];
  /** `NAME.key=VALUE` */
  readonly thresholds: readonly string[];
  readonly prebuiltSnapshotProperty: string | undefined;
  /** Path of a file with the spec of a ClusterHealthReport. */
  readonly config: string | undefined;
}

/**
 * The settings of `check`: those of the file, overridden by the options.
 * @param now milliseconds since the epoch
 * @throws {Error} a message about the option or the place in the file
 */
export async function checkSettings(
  options: CheckOptions,
  now: number,
): Promise<{ settings: CheckSettings; mutes: readonly Mute[] }> {
  const spec = options.config === undefined ? {} : await readSpec(options.config, now);
  const [only, exclude] = [names(options.only), names(options.exclude)];
  const thresholds = withThresholds(spec.thresholds ?? {}, options.thresholds);
  const settings = resolveSettings({
    ...spec,
    thresholds,
    maxFindings: spec.maxFindings ?? MAX_FINDINGS,
    ...(options.prebuiltSnapshotProperty !== undefined && {
      prebuiltSnapshotProperty: options.prebuiltSnapshotProperty,
    }),
  });
  const [problem] = settings.problems;
  if (problem !== undefined) throw new Error(problem.replace(/^spec\./u, ''));
  // A check that is named runs, even if the file disables it.
  const selected = only.size === 0 ? settings.checks : CATALOGUE.filter(({ name }) => only.has(name));
  const checks = selected.filter(({ name }) => !exclude.has(name));
  if (checks.length === 0) throw new Error('no check is left: `--only`, `--exclude` and the file exclude all');
  return { settings: { ...settings, checks }, mutes: spec.mutes ?? [] };
}

/** The file has the spec of a ClusterHealthReport, or the whole resource. */
async function readSpec(path: string, now: number): Promise<ClusterHealthReportSpec> {
  const inFile = (message: string) => new Error(`invalid \`--config ${path}\`: ${message}`);
  const { size } = await stat(path).catch((error: unknown) => {
    throw inFile(errorMessage(error));
  });
  if (size > MAX_CONFIG_BYTES) throw inFile(`it has ${size} bytes; at most ${MAX_CONFIG_BYTES} are read`);
  const document = parseDocument(await readFile(path, 'utf8'), { schema: 'core' });
  const [syntax] = document.errors;
  if (syntax !== undefined) throw inFile(syntax.message.split('\n')[0] ?? syntax.message);
  const content: unknown = document.toJS({ maxAliasCount: 100 }) ?? {};
  if (typeof content !== 'object' || content === null || Array.isArray(content))
    throw inFile('it must have the fields of a spec');
  const whole = 'kind' in content || 'apiVersion' in content;
  const object = whole
    ? content
    : { apiVersion: API_VERSION, kind: 'ClusterHealthReport', metadata: { name: 'config' }, spec: content };
  const validated = validateResource('ClusterHealthReport', object);
  if (!validated.ok)
    throw inFile(whole ? describeErrors(validated.errors) : withoutSpec(describeErrors(validated.errors)));
  const { spec } = validated.value;
  const problems = [...resolveSettings(spec).problems, ...muteProblems(spec.mutes, now)];
  if (problems.length > 0) throw inFile(withoutSpec(problems.join('; ')));
  return spec;
}

/** The file has the fields of the spec at its top. */
function withoutSpec(message: string): string {
  return message.replaceAll(/(?<=^|; )spec\./gu, '');
}

function names(values: readonly string[]): ReadonlySet<string> {
  const upper = values.map((name) => name.toUpperCase());
  for (const name of upper) if (findCheck(name) === undefined) throw new Error(unknownCheck(name));
  return new Set(upper);
}

type Overrides = NonNullable<ClusterHealthReportSpec['thresholds']>;

function withThresholds(ofFile: Overrides, options: readonly string[]): Overrides {
  const overrides = { ...ofFile };
  for (const text of options) {
    const [, name = '', key = '', value = ''] = /^([A-Za-z_]+)\.([A-Za-z]+)=(.+)$/u.exec(text) ?? [];
    if (name === '') throw new Error(`invalid \`--threshold ${text}\`: it must have the form NAME.key=VALUE`);
    const check = findCheck(name.toUpperCase());
    if (check === undefined) throw new Error(unknownCheck(name));
    const problem = thresholdProblem(check, key, Number(value));
    if (problem !== undefined) throw new Error(`invalid \`--threshold ${text}\`: ${problem}`);
    overrides[check.name] = { ...overrides[check.name], [key]: Number(value) };
  }
  return overrides;
}

/** All checks with severity, category, origin and default thresholds, for `--list`. */
export function checkList(): string {
  const width = Math.max(...CATALOGUE.map(({ name }) => name.length));
  const lines = CATALOGUE.map(({ name, severity, category, defaultThresholds }) => {
    const thresholds = Object.entries(defaultThresholds).map(([key, value]) => `${key}=${value}`);
    const extension = originOf(name) === 'extension' ? ['extension'] : [];
    return [name.padEnd(width), severity.padEnd(8), category.padEnd(9), ...extension, thresholds.join(' ')]
      .join('  ')
      .trimEnd();
  });
  return `${lines.join('\n')}\n`;
}
