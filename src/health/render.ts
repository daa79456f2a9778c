import { findCheck } from './catalogue.ts';
import type { CheckResult } from './decisions.ts';
import type { RunResult } from './run.ts';

/** How many findings of a check are shown to people. */
const SHOWN = 5;

export interface RenderOptions {
  /** True where the text goes to a terminal that shows colours. */
  readonly colours: boolean;
  /** Columns of the terminal. */
  readonly width: number;
}

const paint = (code: number) => (text: string, on: boolean) => (on ? `\u{1B}[${code}m${text}\u{1B}[0m` : text);
const red = paint(31);
const green = paint(32);
const yellow = paint(33);
const dim = paint(2);

/** The outcome for people at a terminal: a line for each check, findings below those that failed. */
export function renderTable(run: RunResult, { colours, width }: RenderOptions): string {
  const lines: string[] = [];
  const names = Math.max(0, ...run.results.map(({ name }) => name.length));
  for (const result of run.results) {
    const { status, couldNotEvaluate, message, findings, findingCount } = result.outcome;
    const mark =
      status === 'PASS' ? green('PASS', colours) : couldNotEvaluate ? yellow('FAIL', colours) : red('FAIL', colours);
    const room = Math.max(20, width - names - 7);
    lines.push(`${mark}  ${result.name.padEnd(names)}  ${clipped(message, room)}`);
    if (status === 'PASS') continue;
    for (const finding of findings.slice(0, SHOWN)) {
      lines.push(dim(clipped(`      ${finding.entity}: ${finding.message}`, width), colours));
    }
    if (findingCount > SHOWN) lines.push(dim(`      … ${findingCount - SHOWN} more`, colours));
  }
  lines.push('', summaryLine(run));
  return `${lines.join('\n')}\n`;
}

function summaryLine(run: RunResult): string {
  const { pass, fail } = countsOf(run);
  const version = run.engineVersion === undefined ? '' : ` (Apache Pinot ${run.engineVersion})`;
  return `${pass} passed, ${fail} failed on \`${run.clusterName}\`${version} in ${(run.durationMs / 1000).toFixed(1)} s`;
}

export function countsOf(run: RunResult): { pass: number; fail: number } {
  const fail = run.results.filter(({ outcome }) => outcome.status === 'FAIL').length;
  return { pass: run.results.length - fail, fail };
}

function clipped(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, Math.max(1, width - 1))}…`;
}

/** For a pull request or a ticket. */
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
    for (const finding of outcome.findings.slice(0, SHOWN))
      lines.push(`- ${cell(finding.entity)}: ${cell(finding.message)}`);
    if (outcome.findingCount > SHOWN) lines.push(`- … ${outcome.findingCount - SHOWN} more`);
  }
  return `${lines.join('\n')}\n`;
}

/** JUnit's XML, as build servers read it: a test case for each check, a failure for each FAIL, an error where one could not be evaluated. */
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

/** Escaped for XML 1.0, which has no place at all for most control characters. */
function xml(text: string): string {
  // oxlint-disable-next-line no-control-regex
  const allowed = text.replaceAll(/[\u0000-\u0008\u000B\u000C\u000E-\u001F\uFFFE\uFFFF]/gu, '\uFFFD');
  return allowed.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;');
}
