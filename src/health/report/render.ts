import { xmlText } from '../../platform/xml-text.ts';
import { findCheck } from '../catalogue.ts';
import type { CheckOutcome } from '../check.ts';
import type { CheckResult } from '../run/evaluation.ts';
import type { Cause } from '../../resources/health-cause.ts';
import { groupCauses, isMutedCause } from './causes.ts';
import { isMutedOutcome } from './mutes.ts';
import type { RunResult } from '../run/run.ts';
import { countBySeverity, describeSeverities, severityOf } from './severity.ts';
import type { FailBySeverity } from '../../resources/health-status.ts';

/** Findings of a check beyond this number are summarized as a count. */
const MAX_SHOWN = 5;
/** A message has at least this many columns. */
const MIN_MESSAGE_WIDTH = 30;
/** Longer lines of text are hard to read. */
const MAX_TEXT_WIDTH = 120;

export interface RenderOptions {
  /** Whether to use ANSI colours. */
  readonly colours: boolean;
  /** Width of the terminal in columns. */
  readonly width: number;
  /** Whether to print all findings; the first five of each check by default. */
  readonly all?: boolean;
}

const paint = (code: number) => (text: string, on: boolean) => (on ? `\u{1B}[${code}m${text}\u{1B}[0m` : text);
const red = paint(31);
const green = paint(32);
const yellow = paint(33);
const dim = paint(2);

/** Text for a terminal: one line for each check, followed by its remedy and its findings if it failed. */
export function renderTable(run: RunResult, options: RenderOptions): string {
  const names = Math.max(0, ...run.results.map(({ name }) => name.length));
  const lines = run.results.flatMap((result) => checkLines(result, names, options));
  const causes = causesOf(run).map(({ severity, message }) => {
    const paintedSeverity =
      severity === 'critical' ? red(severity, options.colours) : yellow(severity, options.colours);
    return `${paintedSeverity}  ${truncated(message, options.width - severity.length - 2)}`;
  });
  return `${[...causes, ...(causes.length === 0 ? [] : ['']), ...lines, '', summaryLine(run)].join('\n')}\n`;
}

/** What is behind the findings, the worst first, without what is muted. */
function causesOf({ causes = [], results, startedAt }: RunResult): Cause[] {
  const checks = results.map(({ name, outcome }) => ({
    name,
    findings: [...outcome.findings, ...(outcome.moreFindings ?? [])],
  }));
  return groupCauses(causes, checks, { at: startedAt }).filter((cause) => !isMutedCause(cause));
}

function checkLines(
  { name, outcome }: CheckResult,
  names: number,
  { colours, width, all = false }: RenderOptions,
): string[] {
  const { status, message, findings, findingCount, mutedCount = 0 } = outcome;
  const muted = mutedCount === 0 ? '' : ` (${mutedCount} muted)`;
  // On a narrow terminal the message has a line of its own.
  const besideName = width - names - 8;
  const lines =
    besideName >= MIN_MESSAGE_WIDTH
      ? [`${label(outcome, colours)}  ${name.padEnd(names)}  ${truncated(`${message}${muted}`, besideName)}`]
      : [`${label(outcome, colours)}  ${name}`, truncated(`      ${message}${muted}`, width)];
  if (status === 'PASS') return lines;
  const remediation = findCheck(name)?.remediation;
  // Where nothing was evaluated, there is no fault to remedy: the findings say what could not be read.
  if (remediation !== undefined && !isMutedOutcome(outcome) && !outcome.couldNotEvaluate) {
    lines.push(
      ...wrapped(`Remedy: ${remediation}`, Math.min(width, MAX_TEXT_WIDTH) - 6).map((line) => `      ${line}`),
    );
  }
  const shown = all ? findings : findings.slice(0, MAX_SHOWN);
  for (const { entity, message: problem, mutedBy } of shown) {
    const by = mutedBy === undefined ? '' : `[muted by ${mutedBy}] `;
    lines.push(dim(truncated(`      ${by}${entity}: ${problem}`, width), colours));
  }
  if (findingCount > shown.length) lines.push(dim(`      … ${findingCount - shown.length} more`, colours));
  return lines;
}

function label(outcome: CheckOutcome, colours: boolean): string {
  if (outcome.status === 'PASS') return green('PASS', colours);
  if (isMutedOutcome(outcome)) return dim('FAIL', colours);
  return outcome.couldNotEvaluate ? yellow('FAIL', colours) : red('FAIL', colours);
}

/** Lines of at most `width` characters, broken at spaces. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  let line = '';
  for (const word of text.split(' ')) {
    if (line !== '' && line.length + 1 + word.length > width) {
      lines.push(line);
      line = word;
    } else line = line === '' ? word : `${line} ${word}`;
  }
  return [...lines, line];
}

function summaryLine(run: RunResult): string {
  const { pass, fail } = countsOf(run);
  const version = run.engineVersion === undefined ? '' : ` (Apache Pinot ${run.engineVersion})`;
  const muted = run.results.filter(({ outcome }) => isMutedOutcome(outcome)).length;
  const described = [describeSeverities(bySeverityOf(run)), muted === 0 ? '' : `${muted} muted`].filter(Boolean);
  const severities = fail === 0 ? '' : ` (${described.join(', ')})`;
  return `${pass} passed, ${fail} failed${severities} on \`${visible(run.clusterName)}\`${version} in ${(run.durationMs / 1000).toFixed(1)} s`;
}

function bySeverityOf(run: RunResult): FailBySeverity {
  const failing = run.results.filter(({ outcome }) => outcome.status === 'FAIL' && !isMutedOutcome(outcome));
  return countBySeverity(failing.map(({ name, outcome }) => severityOf(name, outcome)));
}

export function countsOf(run: RunResult): { pass: number; fail: number } {
  const fail = run.results.filter(({ outcome }) => outcome.status === 'FAIL').length;
  return { pass: run.results.length - fail, fail };
}

/** The text without characters that a terminal or a viewer executes, or that change the direction of other text. */
function visible(text: string): string {
  return text.replaceAll(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, '\uFFFD');
}

/** One line of at most `width` columns. Control characters in texts of the cluster must not reach the terminal. */
function truncated(raw: string, width: number): string {
  const text = visible(raw);
  return text.length <= width ? text : `${text.slice(0, Math.max(1, width - 1))}…`;
}

/** A Markdown document, such as for a pull request or a ticket. */
export function renderMarkdown(run: RunResult): string {
  const cell = (text: string): string =>
    visible(text.replaceAll('\n', ' ')).replaceAll('\\', '\\\\').replaceAll('|', '\\|');
  const causeLines = causesOf(run).map(({ severity, message }) => `**${severity}**: ${cell(message)}`);
  const lines = [
    `# Cluster health of \`${cell(run.clusterName)}\``,
    '',
    summaryLine(run),
    '',
    ...causeLines.map((line) => `- ${line}`),
    ...(causeLines.length === 0 ? [] : ['']),
    '| | Check | Outcome |',
    '|---|---|---|',
  ];
  for (const { name, outcome } of run.results) {
    lines.push(
      `| ${symbol(outcome)} | ${name} | ${cell(outcome.message)}${outcome.mutedCount ? ` (${outcome.mutedCount} muted)` : ''} |`,
    );
  }
  for (const { name, outcome } of run.results.filter(({ outcome }) => outcome.status === 'FAIL')) {
    lines.push('', `## ${name}`, '');
    if (!outcome.couldNotEvaluate) lines.push(findCheck(name)?.remediation ?? '', '');
    for (const finding of outcome.findings.slice(0, MAX_SHOWN))
      lines.push(`- ${cell(finding.entity)}: ${cell(finding.message)}`);
    if (outcome.findingCount > MAX_SHOWN) lines.push(`- … ${outcome.findingCount - MAX_SHOWN} more`);
  }
  return `${lines.join('\n')}\n`;
}

function symbol(outcome: CheckOutcome): string {
  if (outcome.status === 'PASS') return '✅';
  if (isMutedOutcome(outcome)) return '🔇';
  return outcome.couldNotEvaluate ? '❔' : '❌';
}

/** JUnit XML: one test case for each check; a FAIL is a failure, one with only muted faults is skipped, a check that could not be evaluated an error. */
export function renderJunit(run: RunResult): string {
  const { fail } = countsOf(run);
  const skipped = run.results.filter(({ outcome }) => isMutedOutcome(outcome)).length;
  const errors = run.results.filter(({ outcome }) => outcome.couldNotEvaluate).length;
  const seconds = (ms: number): string => (ms / 1000).toFixed(3);
  const suite = `name="olap-warden check" tests="${run.results.length}" failures="${fail - errors - skipped}" errors="${errors}" skipped="${skipped}" time="${seconds(run.durationMs)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${suite}>`,
    `  <testsuite ${suite} timestamp="${run.startedAt.toISOString()}" hostname="${xmlText(run.clusterName)}">`,
    ...run.results.map((result) => testCase(result, seconds(result.durationMs))),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase({ name, outcome }: CheckResult, time: string): string {
  const head = `    <testcase name="${name}" classname="${findCheck(name)?.category ?? 'health'}" time="${time}"`;
  if (outcome.status === 'PASS') return `${head}/>`;
  if (isMutedOutcome(outcome)) return `${head}><skipped message="${xmlText(`muted: ${outcome.message}`)}"/></testcase>`;
  const element = outcome.couldNotEvaluate ? 'error' : 'failure';
  const details = outcome.findings.map(({ entity, message }) => `${entity}: ${message}`).join('\n');
  return `${head}><${element} message="${xmlText(outcome.message)}">${xmlText(details)}</${element}></testcase>`;
}
