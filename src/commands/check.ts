import { parseArgs } from 'node:util';
import { errorMessage } from '../platform/plain-error.ts';
import { check, CHECK_EXIT, CHECK_FORMATS, type CheckContext, type CheckRequest } from '../app/check.ts';
import { CATALOGUE } from '../health/catalogue.ts';
import { PREBUILT_SNAPSHOT_PROPERTY } from '../health/check.ts';
import { SEVERITIES } from '../resources/health-finding.ts';
import { parseInterval } from '../health/settings.ts';
import { checkList, checkSettings } from './check-settings.ts';
import { oneOf } from './one-of.ts';

const MIN_TIMEOUT_MS = 1_000;
const SCHEMES = ['http', 'https'] as const;

/** Help of `olap-warden check`. */
export const CHECK_USAGE = `Usage: olap-warden check --controller URL [options]

Runs the ${CATALOGUE.length} health checks once against any Apache Pinot cluster and prints the report.

Options:
  --controller URL             base URL of a Pinot controller; repeat it or separate by commas for several
  -o, --output FORMAT          ${CHECK_FORMATS.join(', ')} (default: table)
  --list                       print the checks with severity, category and default thresholds, and exit
  --only NAME                  run only this check; repeat it or separate by commas for several
  --exclude NAME               skip this check; repeat it or separate by commas for several
  --config FILE                YAML file with the spec of a ClusterHealthReport: thresholds, mutes, disabledChecks,
                               extensionChecks, maxFindings and prebuiltSnapshotProperty; options override it
  --fail-on SEVERITY           exit with 1 only if a check of this severity or a worse one fails:
                               ${SEVERITIES.join(', ')} (default: advice, that is any);
                               muted faults do not count
  --wide                       do not cut the table to the width of the terminal, and print all findings
  --threshold NAME.key=VALUE   override a threshold, such as REPLICATION_CHECK.minReplication=2; can be repeated
  --prebuilt-snapshot-property NAME
                               cluster property that PREBUILT_SNAPSHOT_CHECK reads
                               (default: ${PREBUILT_SNAPSHOT_PROPERTY})
  --credential-file PATH       file with the credential for Pinot: user:password or a token
  --ca-file PATH               PEM file of additional trusted certificate authorities
  --broker-scheme SCHEME       scheme for queries to the brokers: http or https (default: that of the first controller)
  --instance-scheme SCHEME     scheme of the health endpoints of servers and brokers: http or https (default: http)
  --timeout TIME               time limit for reading the cluster, such as 90s (default: 10m)
  -h, --help                   print this help

Exit code: 0 all checks passed, or none failed with a severity of --fail-on; 1 a check failed; 2 the cluster is not reachable, or usage error.
`;

/** Runs `olap-warden check`. @returns the exit code */
export async function runCheck(context: CheckContext): Promise<number> {
  let request: CheckRequest | 'help' | 'list';
  try {
    request = await parseCheck(context.args, context.clock.now());
  } catch (error) {
    // Not the whole help, which would move the error off the screen.
    const [usage] = CHECK_USAGE.split('\n');
    context.stderr(`error: ${errorMessage(error)}\n\n${usage}\n\`olap-warden check --help\` lists all options.\n`);
    return CHECK_EXIT.error;
  }
  if (request !== 'help' && request !== 'list') return check(request, context);
  context.stdout(request === 'list' ? checkList() : CHECK_USAGE);
  return CHECK_EXIT.pass;
}

/**
 * Parses the arguments after `check`.
 * @param now milliseconds since the epoch
 * @returns `help` for `--help` and `list` for `--list`
 * @throws {Error} usage error
 */
async function parseCheck(args: readonly string[], now: number): Promise<CheckRequest | 'help' | 'list'> {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: false,
    options: {
      controller: { type: 'string', multiple: true },
      output: { type: 'string', short: 'o', default: 'table' },
      only: { type: 'string', multiple: true },
      exclude: { type: 'string', multiple: true },
      config: { type: 'string' },
      list: { type: 'boolean', default: false },
      wide: { type: 'boolean', default: false },
      'fail-on': { type: 'string', default: 'advice' },
      threshold: { type: 'string', multiple: true },
      'prebuilt-snapshot-property': { type: 'string' },
      'credential-file': { type: 'string' },
      'ca-file': { type: 'string' },
      'broker-scheme': { type: 'string' },
      'instance-scheme': { type: 'string', default: 'http' },
      timeout: { type: 'string', default: '10m' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return 'help';
  if (values.list) return 'list';
  const controllers = list(values.controller);
  if (controllers.length === 0) throw new Error('missing `--controller`, such as `--controller http://localhost:9000`');
  for (const url of controllers) {
    if (!/^https?:$/u.test(URL.parse(url)?.protocol ?? ''))
      throw new Error(`invalid \`--controller ${url}\`: it must be an http or https URL`);
  }
  return {
    controllers,
    format: oneOf('--output', values.output, CHECK_FORMATS),
    ...(await checkSettings(
      {
        only: list(values.only),
        exclude: list(values.exclude),
        thresholds: values.threshold ?? [],
        prebuiltSnapshotProperty: values['prebuilt-snapshot-property'],
        config: values.config,
      },
      now,
    )),
    wide: values.wide,
    failOn: oneOf('--fail-on', values['fail-on'], SEVERITIES),
    credentialFile: values['credential-file'],
    caFile: values['ca-file'],
    brokerScheme:
      values['broker-scheme'] === undefined ? undefined : oneOf('--broker-scheme', values['broker-scheme'], SCHEMES),
    instanceScheme: oneOf('--instance-scheme', values['instance-scheme'], SCHEMES),
    timeoutMs: timeoutFrom(values.timeout),
  };
}

function list(values: readonly string[] | undefined): string[] {
  return (values ?? []).flatMap((value) => value.split(',')).filter((value) => value !== '');
}

function timeoutFrom(value: string): number {
  const ms = parseInterval(value, MIN_TIMEOUT_MS);
  if (ms === undefined)
    throw new Error(`invalid \`--timeout ${value}\`: it must be a duration such as \`90s\` or \`10m\``);
  return ms;
}
