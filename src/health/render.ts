import { findCheck } from './catalogue.ts';
import type { CheckResult } from './evaluation.ts';
import type { RunResult } from './run.ts';
import { countBySeverity, describeSeverities, severityOf } from './severity.ts';
import type { FailBySeverity } from '../resources/cluster-health-report.ts';

/** Findings of a check beyond this number are summarized as a count. */
const MAX_SHOWN = 5;

export interface RenderOptions {
  /** Whether to use ANSI colours. */
  readonly colours: boolean;
  /** Width of the terminal in columns. */
  readonly width: number;
}

const paint = (code: number) => (text: string, on: boolean) => (on ? `\u{1B}[${code}m${text}\u{1B}[0m` : text);
const red = paint(31);
const green = paint(32);
const yellow = paint(33);
const dim = paint(2);

/** Text for a terminal: one line for each check, followed by its findings if it failed. */
export function renderTable(run: RunResult, { colours, width }: RenderOptions): string {
  const lines: string[] = [];
  const names = Math.max(0, ...run.results.map(({ name }) => name.length));
  for (const result of run.results) {
    const { status, couldNotEvaluate, message, findings, findingCount } = result.outcome;
    const label =
      status === 'PASS' ? green('PASS', colours) : couldNotEvaluate ? yellow('FAIL', colours) : red('FAIL', colours);
    const messageWidth = Math.max(20, width - names - 7);
    lines.push(`${label}  ${result.name.padEnd(names)}  ${truncated(message, messageWidth)}`);
    if (status === 'PASS') continue;
    for (const finding of findings.slice(0, MAX_SHOWN)) {
      lines.push(dim(truncated(`      ${finding.entity}: ${finding.message}`, width), colours));
    }
    if (findingCount > MAX_SHOWN) lines.push(dim(`      … ${findingCount - MAX_SHOWN} more`, colours));
  }
  lines.push('', summaryLine(run));
  return `${lines.join('\n')}\n`;
}

function summaryLine(run: RunResult): string {
  const { pass, fail } = countsOf(run);
  const version = run.engineVersion === undefined ? '' : ` (Apache Pinot ${run.engineVersion})`;
  const severities = fail === 0 ? '' : ` (${describeSeverities(bySeverityOf(run))})`;
  return `${pass} passed, ${fail} failed${severities} on \`${run.clusterName}\`${version} in ${(run.durationMs / 1000).toFixed(1)} s`;
}

function bySeverityOf(run: RunResult): FailBySeverity {
  const failing = run.results.filter(({ outcome }) => outcome.status === 'FAIL');
  return countBySeverity(failing.map(({ name, outcome }) => severityOf(name, outcome)));
}

export function countsOf(run: RunResult): { pass: number; fail: number } {
  const fail = run.results.filter(({ outcome }) => outcome.status === 'FAIL').length;
  return { pass: run.results.length - fail, fail };
}

function truncated(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(1, width - 1))}…`;
}

/** A Markdown document, such as for a pull request or a ticket. */
export function renderMarkdown(run: RunResult): string {
  const cell = (text: string): string => text.replaceAll('\\', '\\\\').replaceAll('|', '\\|').replaceAll('\n', ' ');
  const lines = [
    `# Cluster health of \`${run.clusterName}\``,
    '',
    summaryLine(run),
    '',
    '| | Check | Outcome |',
    '|---|---|---|',
  ];
  for (const { name, outcome } of run.results) {
    lines.push(
      `| ${outcome.status === 'PASS' ? '✅' : outcome.couldNotEvaluate ? '❔' : '❌'} | ${name} | ${cell(outcome.message)} |`,
    );
  }
  for (const { name, outcome } of run.results.filter(({ outcome }) => outcome.status === 'FAIL')) {
    lines.push('', `## ${name}`, '', findCheck(name)?.remediation ?? '', '');
    for (const finding of outcome.findings.slice(0, MAX_SHOWN))
      lines.push(`- ${cell(finding.entity)}: ${cell(finding.message)}`);
    if (outcome.findingCount > MAX_SHOWN) lines.push(`- … ${outcome.findingCount - MAX_SHOWN} more`);
  }
  return `${lines.join('\n')}\n`;
}

/** JUnit XML: one test case for each check; a FAIL is a failure, a check that could not be evaluated an error. */
export function renderJunit(run: RunResult): string {
  const { fail } = countsOf(run);
  const errors = run.results.filter(({ outcome }) => outcome.couldNotEvaluate).length;
  const seconds = (ms: number): string => (ms / 1000).toFixed(3);
  const suite = `name="olap-warden check" tests="${run.results.length}" failures="${fail - errors}" errors="${errors}" time="${seconds(run.durationMs)}"`;
  return [
    '<?xml version="1.0" encoding="UTF-8"?>',
    `<testsuites ${suite}>`,
    `  <testsuite ${suite} timestamp="${run.startedAt.toISOString()}" hostname="${xml(run.clusterName)}">`,
    ...run.results.map((result) => testCase(result, seconds(result.durationMs))),
    '  </testsuite>',
    '</testsuites>',
    '',
  ].join('\n');
}

function testCase({ name, outcome }: CheckResult, time: string): string {
  const head = `    <testcase name="${name}" classname="${findCheck(name)?.category ?? 'health'}" time="${time}"`;
  if (outcome.status === 'PASS') return `${head}/>`;
  const element = outcome.couldNotEvaluate ? 'error' : 'failure';
  const details = outcome.findings.map(({ entity, message }) => `${entity}: ${message}`).join('\n');
  return `${head}><${element} message="${xml(outcome.message)}">${xml(details)}</${element}></testcase>`;
}

/** Escapes text for XML 1.0, which does not allow most control characters even as references. */
function xml(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const allowed = text.replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/gu, '\uFFFD');
  return allowed.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
