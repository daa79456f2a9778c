import { parseArgs } from 'node:util';
import { check, CHECK_EXIT, CHECK_FORMATS, type CheckContext, type CheckRequest } from '../app/check.ts';
import { CATALOGUE, findCheck } from '../health/catalogue.ts';
import { PREBUILT_SNAPSHOT_PROPERTY } from '../health/check.ts';
import { SEVERITIES } from '../resources/cluster-health-report.ts';
import {
  parseInterval,
  resolveSettings,
  thresholdProblem,
  unknownCheck,
  type CheckSettings,
} from '../health/settings.ts';

/** Maximum findings per check in a report. */
const MAX_FINDINGS = 200;
const MIN_TIMEOUT_MS = 1_000;

const CHECK_USAGE = `Usage: olap-warden check --controller URL [options]

Runs the ${CATALOGUE.length} health checks once against any Apache Pinot cluster and prints the report.

Options:
  --controller URL             base URL of a Pinot controller; repeat it or separate by commas for several
  -o, --output FORMAT          ${CHECK_FORMATS.join(', ')} (default: table)
  --only NAME                  run only this check; repeat it or separate by commas for several
  --fail-on SEVERITY           exit with 1 only if a check of this severity or a worse one fails:
                               ${SEVERITIES.join(', ')} (default: advice, that is any)
  --threshold NAME.key=VALUE   override a threshold, such as REPLICATION_CHECK.minReplication=2; can be repeated
  --prebuilt-snapshot-property NAME
                               cluster property that PREBUILT_SNAPSHOT_CHECK reads
                               (default: ${PREBUILT_SNAPSHOT_PROPERTY})
  --credential-file PATH       file with the credential for Pinot: user:password or a token
  --ca-file PATH               PEM file of additional trusted certificate authorities
  --instance-scheme SCHEME     scheme of the health endpoints of servers and brokers: http or https (default: http)
  --timeout TIME               time limit for reading the cluster, such as 90s (default: 10m)
  -h, --help                   print this help

Exit code: 0 all checks passed, or none failed with a severity of --fail-on; 1 a check failed; 2 the cluster is not reachable, or usage error.
`;

/** Runs `olap-warden check`. @returns the exit code */
export async function runCheck(context: CheckContext): Promise<number> {
  let request: CheckRequest | 'help';
  try {
    request = parseCheck(context.args);
  } catch (error) {
    context.stderr(`error: ${(error as Error).message}\n\n${CHECK_USAGE}`);
    return CHECK_EXIT.error;
  }
  if (request !== 'help') return check(request, context);
  context.stdout(CHECK_USAGE);
  return CHECK_EXIT.pass;
}

/** Parses the arguments after `check`. @returns `help` for `--help` @throws {Error} usage error */
function parseCheck(args: readonly string[]): CheckRequest | 'help' {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: false,
    options: {
      controller: { type: 'string', multiple: true },
      output: { type: 'string', short: 'o', default: 'table' },
      only: { type: 'string', multiple: true },
      'fail-on': { type: 'string', default: 'advice' },
      threshold: { type: 'string', multiple: true },
      'prebuilt-snapshot-property': { type: 'string', default: PREBUILT_SNAPSHOT_PROPERTY },
      'credential-file': { type: 'string' },
      'ca-file': { type: 'string' },
      'instance-scheme': { type: 'string', default: 'http' },
      timeout: { type: 'string', default: '10m' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return 'help';
  const controllers = list(values.controller);
  if (controllers.length === 0) throw new Error('missing `--controller`, such as `--controller http://localhost:9000`');
  for (const url of controllers) {
    if (!/^https?:$/u.test(URL.parse(url)?.protocol ?? ''))
      throw new Error(`invalid \`--controller ${url}\`: it must be an http or https URL`);
  }
  return {
    controllers,
    format: oneOf('--output', values.output, CHECK_FORMATS),
    settings: {
      ...settingsFrom(list(values.only), values.threshold ?? []),
      prebuiltSnapshotProperty: values['prebuilt-snapshot-property'],
    },
    failOn: oneOf('--fail-on', values['fail-on'], SEVERITIES),
    credentialFile: values['credential-file'],
    caFile: values['ca-file'],
    instanceScheme: oneOf('--instance-scheme', values['instance-scheme'], ['http', 'https']),
    timeoutMs: timeoutFrom(values.timeout),
  };
}

function list(values: readonly string[] | undefined): string[] {
  return (values ?? []).flatMap((value) => value.split(',')).filter((value) => value !== '');
}

function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`invalid \`${option} ${value}\`: it must be one of ${allowed.join(', ')}`);
  return found;
}

function timeoutFrom(value: string): number {
  const ms = parseInterval(value, MIN_TIMEOUT_MS);
  if (ms === undefined)
    throw new Error(`invalid \`--timeout ${value}\`: it must be a duration such as \`90s\` or \`10m\``);
  return ms;
}

function settingsFrom(
  only: readonly string[],
  thresholds: readonly string[],
): Omit<CheckSettings, 'prebuiltSnapshotProperty'> {
  const names = new Set(only.map((name) => name.toUpperCase()));
  for (const name of names) if (findCheck(name) === undefined) throw new Error(unknownCheck(name));
  const overrides: Record<string, Record<string, number>> = {};
  for (const text of thresholds) {
    const [, name = '', key = '', value = ''] = /^([A-Za-z_]+)\.([A-Za-z]+)=(.+)$/u.exec(text) ?? [];
    const check = findCheck(name.toUpperCase());
    if (name === '') throw new Error(`invalid \`--threshold ${text}\`: it must have the form NAME.key=VALUE`);
    if (check === undefined) throw new Error(unknownCheck(name));
    const problem = thresholdProblem(check, key, Number(value));
    if (problem !== undefined) throw new Error(`invalid \`--threshold ${text}\`: ${problem}`);
    overrides[check.name] = { ...overrides[check.name], [key]: Number(value) };
  }
  const checks = names.size === 0 ? CATALOGUE : CATALOGUE.filter(({ name }) => names.has(name));
  // One run in this process: nothing is kept, and its deadline is --timeout.
  const { fullReadMs, deadlineMs } = resolveSettings({});
  return { checks, overrides, maxFindings: MAX_FINDINGS, fullReadMs, deadlineMs, problems: [] };
}
