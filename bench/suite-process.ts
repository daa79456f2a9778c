import { fork } from 'node:child_process';
import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { Finding } from './frame/bench.ts';

export interface SuiteOutcome {
  readonly findings: readonly Finding[];
  readonly seconds: number;
  /** Why it ended early. */
  readonly failure?: string;
}

export interface SuiteOptions {
  readonly program?: string;
  readonly limitSeconds: number;
  readonly onFinding: (finding: Finding) => void;
}

const STDERR_CHARACTERS = 2000;

/** Runs one suite in a separate process until it ends or the time is over; then also its own processes are ended. */
export function runSuite(name: string, { program, limitSeconds, onFinding }: SuiteOptions): Promise<SuiteOutcome> {
  const started = performance.now();
  const findings: Finding[] = [];
  let errors = '';
  let late = false;
  const child = fork(program ?? join(import.meta.dirname, 'run-suite.ts'), [name], {
    execArgv: ['--expose-gc'],
    stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
  });
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(-STDERR_CHARACTERS);
  });
  child.on('message', (message) => {
    findings.push(message as Finding);
    onFinding(message as Finding);
  });
  const endAll = (): void => endTree(child.pid);
  const timer = setTimeout(() => {
    late = true;
    endAll();
  }, limitSeconds * 1000);
  process.once('exit', endAll);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('exit', (code, signal) => {
      clearTimeout(timer);
      process.off('exit', endAll);
      const seconds = (performance.now() - started) / 1000;
      if (code === 0) return resolve({ findings, seconds });
      const ended = signal === null ? `it ended with code ${code}` : `it was ended by ${signal}`;
      const failure = late ? `it took more than ${Math.round(limitSeconds)} s` : lastError(errors) || ended;
      return resolve({ findings, seconds, failure });
    });
  });
}

/** The message of the exception that ended a process, from its standard error. */
function lastError(text: string): string {
  const messages = [...text.matchAll(/^\S*Error(?: \[\w+\])?: (.+)$/gm)].map(([, message]) => message ?? '');
  return (messages.at(-1) ?? text.trim().split('\n').at(-1) ?? '').slice(0, 300);
}

/** Ends a process and all of its descendants, such as a JVM that it started. */
function endTree(pid: number | undefined): void {
  if (pid === undefined) return;
  for (const id of [pid, ...descendantsOf(pid)]) {
    try {
      process.kill(id, 'SIGKILL');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
    }
  }
}

function descendantsOf(pid: number): number[] {
  const children = new Map<number, number[]>();
  for (const name of readdirSync('/proc').filter((entry) => /^\d+$/.test(entry))) {
    const parent = parentOf(name);
    if (parent !== undefined) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const all: number[] = [];
  const pending = [pid];
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    const own = children.get(next) ?? [];
    all.push(...own);
    pending.push(...own);
  }
  return all;
}

function parentOf(name: string): number | undefined {
  try {
    return Number(readFileSync(`/proc/${name}/stat`, 'utf8').split(') ')[1]?.split(' ')[1]);
  } catch {
    return undefined; // it has ended
  }
}
