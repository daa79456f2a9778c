import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { Registry } from 'prom-client';
import { stringify } from 'yaml';
import { createEngine, type EngineOptions } from '../pinot/connection.ts';
import { credentialFromFile } from '../pinot/credential.ts';
import { CATALOGUE, findCheck } from '../health/catalogue.ts';
import { PREBUILT_SNAPSHOT_PROPERTY } from '../health/check.ts';
import { createGather } from '../health/gather/gather.ts';
import { healthMetrics } from '../health/metrics.ts';
import { countsOf, renderJunit, renderMarkdown, renderTable } from '../health/render.ts';
import { buildStatus } from '../health/report.ts';
import { runChecks, type RunProgress, type RunResult } from '../health/run.ts';
import { parseInterval, thresholdProblem, unknownCheck, type CheckSettings } from '../health/settings.ts';
import { clusterHealth } from '../api/health/report.ts';
import { systemClock } from '../platform/clock.ts';

/** What the command uses of its process. */
export interface CheckIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly stdoutIsTty: boolean;
  readonly stderrIsTty: boolean;
  /** Width of the terminal in columns. */
  readonly width: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal;
}

export const EXIT_PASS = 0;
export const EXIT_FAIL = 1;
/** The cluster is not reachable, or a usage error. */
export const EXIT_ERROR = 2;

const FORMATS = ['table', 'json', 'yaml', 'junit', 'prometheus', 'markdown'] as const;
type Format = (typeof FORMATS)[number];
/** The most findings per check that a report can contain. */
const MAX_FINDINGS = 200;

export const CHECK_USAGE = `Usage: olap-warden check --controller URL [options]

Runs the ${CATALOGUE.length} health checks once against any Apache Pinot cluster and prints the report.

Options:
  --controller URL             base URL of a controller; repeat or separate by commas for further ones
  -o, --output FORMAT          ${FORMATS.join(', ')} (default: table)
  --only NAME                  run only this check; repeat or separate by commas for several
  --threshold NAME.key=VALUE   override a threshold, such as REPLICATION_CHECK.minReplication=2; can be repeated
  --prebuilt-snapshot-property NAME
                               cluster property that PREBUILT_SNAPSHOT_CHECK reads
                               (default: ${PREBUILT_SNAPSHOT_PROPERTY})
  --credential-file PATH       file with the credential for Pinot: user:password or a token
  --ca-file PATH               PEM file of additional trusted certificate authorities
  --instance-scheme SCHEME     scheme of the health endpoints of servers and brokers: http or https (default: http)
  --timeout TIME               time limit for reading the cluster, such as 90s (default: 10m)
  -h, --help                   print this help

Exit code: 0 all checks passed, 1 a check failed, 2 the cluster is not reachable or usage error.
`;

class UsageError extends Error {}

interface CheckArguments {
  readonly controllers: readonly string[];
  readonly format: Format;
  readonly settings: CheckSettings;
  readonly credentialFile: string | undefined;
  readonly caFile: string | undefined;
  readonly instanceScheme: 'http' | 'https';
  readonly timeoutMs: number;
}

/** Runs `olap-warden check`. @param argv arguments after the command's name @returns the exit code */
export async function runCheck(argv: readonly string[], io: CheckIo): Promise<number> {
  let parsed: CheckArguments | undefined;
  try {
    parsed = parse(argv);
  } catch (error) {
    io.stderr(`error: ${(error as Error).message}\n\n${CHECK_USAGE}`);
    return EXIT_ERROR;
  }
  if (parsed === undefined) {
    io.stdout(CHECK_USAGE);
    return EXIT_PASS;
  }
  try {
    const run = await readAndCheck(parsed, io);
    if (io.signal.aborted) {
      io.stderr('error: interrupted before the checks had run\n');
      return EXIT_ERROR;
    }
    if (run.unreachable !== undefined) {
      io.stderr(`error: the cluster at \`${parsed.controllers.join(', ')}\` is not reachable: ${run.unreachable}\n`);
      return EXIT_ERROR;
    }
    io.stdout(await rendered(run, parsed.format, io));
    return countsOf(run).fail === 0 ? EXIT_PASS : EXIT_FAIL;
  } catch (error) {
    io.stderr(`error: ${(error as Error).message}\n`);
    return EXIT_ERROR;
  }
}

async function readAndCheck(parsed: CheckArguments, io: CheckIo): Promise<RunResult> {
  const options: EngineOptions = {
    controllerUrls: parsed.controllers,
    ...(parsed.caFile === undefined ? {} : { ca: await readFile(parsed.caFile, 'utf8') }),
    ...(parsed.credentialFile === undefined
      ? {}
      : { credential: credentialFromFile(parsed.credentialFile, systemClock) }),
  };
  const engine = createEngine(options);
  const progress = progressLine(io);
  try {
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(parsed.timeoutMs)]);
    const clock = { ...systemClock, now: () => io.now().getTime(), random: io.random };
    const gather = createGather({ engine, clock, instanceScheme: parsed.instanceScheme });
    return await runChecks({ gather, settings: parsed.settings, signal, clock, onProgress: progress.step });
  } finally {
    progress.clear();
    await engine.close();
  }
}

/** A progress line on a terminal, overwritten at each step. */
function progressLine(io: CheckIo): { step: (progress: RunProgress) => void; clear: () => void } {
  if (!io.stderrIsTty) return { step: () => undefined, clear: () => undefined };
  let shown = false;
  let last = '';
  return {
    step({ done, total, checks, checksTotal }) {
      const failed = checks.filter(({ status }) => status === 'FAIL').length;
      const decided = `${checks.length} of ${checksTotal} checks${failed === 0 ? '' : `, ${failed} failed`}`;
      const text = `${Math.floor((100 * done) / Math.max(1, total))} % of the cluster read, ${decided}`;
      if (text === last) return;
      last = text;
      shown = true;
      io.stderr(`\r${text}\u{1B}[K`);
    },
    clear() {
      if (shown) io.stderr('\r\u{1B}[K');
    },
  };
}

async function rendered(run: RunResult, format: Format, io: CheckIo): Promise<string> {
  const colours = io.stdoutIsTty && (io.env.NO_COLOR ?? '') === '';
  switch (format) {
    case 'table':
      return renderTable(run, { colours, width: io.stdoutIsTty ? io.width : Number.POSITIVE_INFINITY });
    case 'markdown':
      return renderMarkdown(run);
    case 'junit':
      return renderJunit(run);
    case 'prometheus': {
      const registry = new Registry();
      healthMetrics(registry, () => statusOf(run, io.now()));
      return registry.metrics();
    }
    case 'json':
      return `${JSON.stringify(clusterHealth(statusOf(run, io.now()), {}), undefined, 2)}\n`;
    case 'yaml':
      return stringify(clusterHealth(statusOf(run, io.now()), {}));
  }
}

function statusOf(result: RunResult, now: Date) {
  return buildStatus({
    result,
    previous: undefined,
    generation: undefined,
    runAt: undefined,
    maxFindings: MAX_FINDINGS,
    problems: [],
    now,
  });
}

/** @returns undefined for `--help`. @throws {Error} usage error */
function parse(argv: readonly string[]): CheckArguments | undefined {
  const { values } = parseArgs({
    args: [...argv],
    strict: true,
    allowPositionals: false,
    options: {
      controller: { type: 'string', multiple: true },
      output: { type: 'string', short: 'o', default: 'table' },
      only: { type: 'string', multiple: true },
      threshold: { type: 'string', multiple: true },
      'prebuilt-snapshot-property': { type: 'string', default: PREBUILT_SNAPSHOT_PROPERTY },
      'credential-file': { type: 'string' },
      'ca-file': { type: 'string' },
      'instance-scheme': { type: 'string', default: 'http' },
      timeout: { type: 'string', default: '10m' },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return undefined;
  const controllers = list(values.controller);
  if (controllers.length === 0)
    throw new UsageError('missing `--controller`, such as `--controller http://localhost:9000`');
  for (const url of controllers) {
    if (!/^https?:$/u.test(URL.parse(url)?.protocol ?? ''))
      throw new UsageError(`invalid \`--controller ${url}\`: it must be an http or https URL`);
  }
  return {
    controllers,
    format: oneOf('--output', values.output, FORMATS),
    settings: {
      ...settingsFrom(list(values.only), values.threshold ?? []),
      prebuiltSnapshotProperty: values['prebuilt-snapshot-property'],
    },
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
  if (found === undefined)
    throw new UsageError(`invalid \`${option} ${value}\`: it must be one of ${allowed.join(', ')}`);
  return found;
}

function timeoutFrom(value: string): number {
  const ms = parseInterval(value);
  if (ms === undefined)
    throw new UsageError(`invalid \`--timeout ${value}\`: it must be a duration such as \`90s\` or \`10m\``);
  return ms;
}

function settingsFrom(
  only: readonly string[],
  thresholds: readonly string[],
): Omit<CheckSettings, 'prebuiltSnapshotProperty'> {
  const names = new Set(only.map((name) => name.toUpperCase()));
  for (const name of names) if (findCheck(name) === undefined) throw new UsageError(unknownCheck(name));
  const overrides: Record<string, Record<string, number>> = {};
  for (const text of thresholds) {
    const [, name = '', key = '', value = ''] = /^([A-Za-z_]+)\.([A-Za-z]+)=(.+)$/u.exec(text) ?? [];
    const check = findCheck(name.toUpperCase());
    if (name === '') throw new UsageError(`invalid \`--threshold ${text}\`: it must have the form NAME.key=VALUE`);
    if (check === undefined) throw new UsageError(unknownCheck(name));
    const problem = thresholdProblem(check, key, Number(value));
    if (problem !== undefined) throw new UsageError(`invalid \`--threshold ${text}\`: ${problem}`);
    overrides[check.name] = { ...overrides[check.name], [key]: Number(value) };
  }
  const checks = names.size === 0 ? CATALOGUE : CATALOGUE.filter(({ name }) => names.has(name));
  return { checks, overrides, maxFindings: MAX_FINDINGS, problems: [] };
}
