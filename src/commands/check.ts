import { readFile } from 'node:fs/promises';
import { parseArgs } from 'node:util';
import { Registry } from 'prom-client';
import { stringify } from 'yaml';
import { createEngine, type EngineOptions } from '../engine/connection.ts';
import { credentialFromFile } from '../engine/credential.ts';
import { CATALOGUE, findCheck } from '../health/catalogue.ts';
import { PREBUILT_SNAPSHOT_PROPERTY } from '../health/check.ts';
import { createGather } from '../health/gather.ts';
import { healthMetrics } from '../health/metrics.ts';
import { countsOf, renderJunit, renderMarkdown, renderTable } from '../health/render.ts';
import { buildStatus } from '../health/report.ts';
import { runChecks, type RunProgress, type RunResult } from '../health/run.ts';
import { parseInterval, thresholdProblem, unknownCheck, type CheckSettings } from '../health/settings.ts';
import { clusterHealth } from '../http/cluster-health/report.ts';

/** What the command reads from and writes to; a test hands in its own. */
export interface CheckIo {
  readonly stdout: (text: string) => void;
  readonly stderr: (text: string) => void;
  readonly stdoutIsTty: boolean;
  readonly stderrIsTty: boolean;
  /** Columns of the terminal. */
  readonly width: number;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly now: () => Date;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  /** Aborts when the user gives up. */
  readonly signal: AbortSignal;
}

export const EXIT_PASS = 0;
export const EXIT_FAIL = 1;
/** The cluster could not be reached, or the command line is wrong. */
export const EXIT_COULD_NOT = 2;

const FORMATS = ['table', 'json', 'yaml', 'junit', 'prometheus', 'markdown'] as const;
type Format = (typeof FORMATS)[number];
/** All that a report can hold. */
const MAX_FINDINGS = 200;

export const CHECK_USAGE = `Usage: olap-warden check --controller URL [options]

Runs the ${CATALOGUE.length} health checks once against any Apache Pinot and says what they found.

Options:
  --controller URL             base URL of the controller; again or after a comma: others, for when the first is away
  -o, --output FORMAT          ${FORMATS.join(', ')}; table by default
  --only NAME                  only this check; again or after a comma for more
  --threshold NAME.key=VALUE   another threshold, such as REPLICATION_CHECK.minReplication=2
  --prebuilt-snapshot-property NAME
                               cluster property that PREBUILT_SNAPSHOT_CHECK looks at, where it is another one
  --credential-file PATH       file with the credential for the engine: user:password, or a token
  --ca-file PATH               certificates (PEM) of authorities to trust beside those of the system
  --instance-scheme SCHEME     how servers and brokers are asked for their health: http (by default) or https
  --timeout TIME               when to stop reading, such as 90s; 10m by default
  -h, --help                   this text

Exit code: 0 every check passed, 1 one failed, 2 the cluster could not be reached (or the command line is wrong).
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

/** `olap-warden check`: everything after the command's name, and the exit code. */
export async function runCheck(argv: readonly string[], io: CheckIo): Promise<number> {
  let parsed: CheckArguments | undefined;
  try {
    parsed = parse(argv);
  } catch (error) {
    io.stderr(`error: ${(error as Error).message}\n\n${CHECK_USAGE}`);
    return EXIT_COULD_NOT;
  }
  if (parsed === undefined) {
    io.stdout(CHECK_USAGE);
    return EXIT_PASS;
  }
  try {
    const run = await readAndCheck(parsed, io);
    if (io.signal.aborted) {
      io.stderr('error: given up before the checks had run\n');
      return EXIT_COULD_NOT;
    }
    if (run.unreachable !== undefined) {
      io.stderr(
        `error: the cluster at \`${parsed.controllers.join(', ')}\` could not be reached: ${run.unreachable}\n`,
      );
      return EXIT_COULD_NOT;
    }
    io.stdout(await rendered(run, parsed.format, io));
    return countsOf(run).fail === 0 ? EXIT_PASS : EXIT_FAIL;
  } catch (error) {
    io.stderr(`error: ${(error as Error).message}\n`);
    return EXIT_COULD_NOT;
  }
}

async function readAndCheck(parsed: CheckArguments, io: CheckIo): Promise<RunResult> {
  const options: EngineOptions = {
    controllerUrls: parsed.controllers,
    ...(parsed.caFile === undefined ? {} : { ca: await readFile(parsed.caFile, 'utf8') }),
    ...(parsed.credentialFile === undefined
      ? {}
      : { credential: credentialFromFile(parsed.credentialFile, () => io.now().getTime()) }),
  };
  const engine = createEngine(options);
  const progress = progressLine(io);
  try {
    const signal = AbortSignal.any([io.signal, AbortSignal.timeout(parsed.timeoutMs)]);
    const gather = createGather({ engine, random: io.random, instanceScheme: parsed.instanceScheme });
    return await runChecks({ gather, settings: parsed.settings, signal, now: io.now, onProgress: progress.step });
  } finally {
    progress.clear();
    await engine.close();
  }
}

/** One line that is written over and over, for people who wait at a terminal. */
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

/** @returns undefined where only help is wanted. @throws {Error} a wrong command line */
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
  if (controllers.length === 0) throw new UsageError('`--controller` is missing, such as `http://localhost:9000`');
  for (const url of controllers) {
    if (!/^https?:$/u.test(URL.parse(url)?.protocol ?? '')) throw new UsageError(`\`${url}\` is no http or https URL`);
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
  if (found === undefined) throw new UsageError(`\`${option} ${value}\`: one of ${allowed.join(', ')} would be right`);
  return found;
}

function timeoutFrom(value: string): number {
  const ms = parseInterval(value);
  if (ms === undefined)
    throw new UsageError(`\`--timeout ${value}\`: a time such as \`90s\` or \`10m\` would be right`);
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
    if (name === '') throw new UsageError(`\`--threshold ${text}\`: NAME.key=VALUE would be right`);
    if (check === undefined) throw new UsageError(unknownCheck(name));
    const problem = thresholdProblem(check, key, Number(value));
    if (problem !== undefined) throw new UsageError(`\`--threshold ${text}\`: ${problem}`);
    overrides[check.name] = { ...overrides[check.name], [key]: Number(value) };
  }
  const checks = names.size === 0 ? CATALOGUE : CATALOGUE.filter(({ name }) => names.has(name));
  return { checks, overrides, maxFindings: MAX_FINDINGS, problems: [] };
}
