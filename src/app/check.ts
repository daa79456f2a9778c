import { errorMessage } from '../platform/plain-error.ts';
import { REPORT_NAME } from '../resources/cluster-health-report.ts';
import type { Severity } from '../resources/health-finding.ts';
import type { Mute } from '../resources/health-mute.ts';
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { Registry } from 'prom-client';
import { stringify } from 'yaml';
import { clusterHealth } from '../api/health/report.ts';
import { createGather } from '../health/gather/gather.ts';
import { healthMetrics } from '../health/metrics.ts';
import { isMutedOutcome, muteRun } from '../health/report/mutes.ts';
import { renderJunit, renderMarkdown, renderTable } from '../health/report/render.ts';
import { buildStatus } from '../health/report/report.ts';
import { cut } from '../health/report/report-findings.ts';
import { runChecks, type RunProgress, type RunResult } from '../health/run/run.ts';
import { isAtLeast, severityOf } from '../health/report/severity.ts';
import type { CheckSettings } from '../health/settings.ts';
import { createEngine } from '../pinot/connection.ts';
import { credentialFromFile } from '../pinot/credential.ts';
import type { Clock } from '../platform/clock.ts';
import type { CommandContext } from './parts/context.ts';

export const CHECK_FORMATS = ['table', 'json', 'yaml', 'junit', 'prometheus', 'markdown'] as const;
export type CheckFormat = (typeof CHECK_FORMATS)[number];

/** Exit codes of `check`. `error`: the cluster is not reachable, or a usage error. */
export const CHECK_EXIT = { pass: 0, fail: 1, error: 2 } as const;

/** The arguments of `check`. */
export interface CheckRequest {
  readonly controllers: readonly string[];
  readonly format: CheckFormat;
  readonly settings: CheckSettings;
  readonly mutes: readonly Mute[];
  /** Whether the table has all findings at any width. */
  readonly wide: boolean;
  /** A failed check of this severity, or a worse one, is an exit code of 1, unless all its faults are muted. */
  readonly failOn: Severity;
  readonly credentialFile: string | undefined;
  readonly caFile: string | undefined;
  readonly instanceScheme: 'http' | 'https';
  /** Undefined for that of the first controller. */
  readonly brokerScheme: 'http' | 'https' | undefined;
  /** Time limit for reading the cluster. */
  readonly timeoutMs: number;
}

/** What `check` uses of its process. */
export interface CheckContext extends CommandContext {
  readonly stdoutIsTty: boolean;
  readonly stderrIsTty: boolean;
  /** Width of the terminal in columns. */
  readonly width: number;
  readonly clock: Clock;
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal;
}

/** Runs the health checks once and prints the report. @returns the exit code */
export async function check(request: CheckRequest, context: CheckContext): Promise<number> {
  try {
    const result = muteRun(await readAndCheck(request, context), request.mutes, context.clock.now());
    if (context.signal.aborted) {
      context.stderr('error: interrupted before the checks were complete\n');
      return CHECK_EXIT.error;
    }
    if (result.unreachable !== undefined) {
      // The reason names the controller that was tried last.
      const others = request.controllers.length > 1 ? ` at ${request.controllers.join(', ')}` : '';
      const reason = withCertificateHint(result.unreachable);
      context.stderr(withoutCredentials(`error: the cluster${others} is not reachable: ${reason}\n`));
      return CHECK_EXIT.error;
    }
    context.stdout(await rendered(result, request, context));
    const failed = result.results.some(
      ({ name, outcome }) =>
        outcome.status === 'FAIL' && !isMutedOutcome(outcome) && isAtLeast(severityOf(name, outcome), request.failOn),
    );
    return failed ? CHECK_EXIT.fail : CHECK_EXIT.pass;
  } catch (error) {
    context.stderr(withoutCredentials(`error: ${errorMessage(error)}\n`));
    return CHECK_EXIT.error;
  }
}

/** The text with the URLs in it less their user and password. */
function withoutCredentials(text: string): string {
  return text.replaceAll(/(?<=:\/\/)[^\s/?#@]*@/gu, '');
}

/** A certificate that is not trusted ends the connection before a response. */
function withCertificateHint(reason: string): string {
  const lost = /connection lost before a response (?=\((?:\w*CERT\w*|UNABLE_TO_\w+)\))/u;
  return reason.replace(lost, 'its certificate is not trusted, `--ca-file` names the authority that signed it ');
}

/** The certificates of the authorities. @throws {Error} a file without a certificate, which TLS would ignore */
async function readAuthorities(caFile: string): Promise<string> {
  const pem = await readFile(caFile, 'utf8');
  try {
    void new X509Certificate(pem);
  } catch {
    throw new Error(`\`--ca-file\`: \`${caFile}\` has no PEM certificate`);
  }
  return pem;
}

async function readAndCheck(request: CheckRequest, context: CheckContext): Promise<RunResult> {
  const { controllers, caFile, credentialFile, instanceScheme, brokerScheme, settings, timeoutMs } = request;
  const { clock } = context;
  const engine = createEngine({
    controllerUrls: controllers,
    brokerScheme,
    ...(caFile !== undefined && { ca: await readAuthorities(caFile) }),
    ...(credentialFile !== undefined && {
      credential: credentialFromFile(credentialFile, clock),
    }),
  });
  const progress = progressLine(context);
  try {
    const signal = AbortSignal.any([context.signal, AbortSignal.timeout(timeoutMs)]);
    const gather = createGather({ engine, clock, instanceScheme: () => instanceScheme });
    return await runChecks({ gather, settings, signal, clock, onProgress: progress.step });
  } finally {
    progress.clear();
    await engine.close();
  }
}

/** A progress line on a terminal, overwritten at each step. */
function progressLine(context: CheckContext): { step: (progress: RunProgress) => void; clear: () => void } {
  if (!context.stderrIsTty) return { step: () => undefined, clear: () => undefined };
  let shown = '';
  // The total grows while tables are found; the displayed part must not go back.
  let percent = 0;
  return {
    step({ done, total, checks, checksTotal }) {
      percent = Math.max(percent, Math.floor((100 * done) / Math.max(1, total)));
      const failed = checks.filter(({ status }) => status === 'FAIL').length;
      const decided = `${checks.length} of ${checksTotal} checks${failed === 0 ? '' : `, ${failed} failed`}`;
      const text = cut(`${percent} % of the cluster read, ${decided}`, Math.max(1, context.width - 1));
      if (text === shown) return;
      shown = text;
      context.stderr(`\r${text}\u{1B}[K`);
    },
    clear() {
      if (shown !== '') context.stderr('\r\u{1B}[K');
    },
  };
}

async function rendered(
  result: RunResult,
  { format, settings, mutes, wide }: CheckRequest,
  { stdoutIsTty, width, env, clock }: CheckContext,
): Promise<string> {
  const status = () =>
    buildStatus({
      result,
      previous: undefined,
      generation: undefined,
      runAt: undefined,
      maxFindings: settings.maxFindings,
      criticalAfterMs: settings.criticalAfterMs,
      mutes,
      now: clock.now(),
    });
  switch (format) {
    case 'table': {
      const colours = stdoutIsTty && (env['NO_COLOR'] ?? '') === '';
      return renderTable(result, {
        colours,
        width: stdoutIsTty && !wide ? width : Number.POSITIVE_INFINITY,
        all: wide,
      });
    }
    case 'markdown':
      return renderMarkdown(result);
    case 'junit':
      return renderJunit(result);
    case 'prometheus': {
      const registry = new Registry();
      healthMetrics(registry, () => [{ name: REPORT_NAME, status: status() }]);
      return registry.metrics();
    }
    case 'json':
      return `${JSON.stringify(clusterHealth(status(), {}, clock.now()), undefined, 2)}\n`;
    case 'yaml':
      return stringify(clusterHealth(status(), {}, clock.now()));
  }
}
