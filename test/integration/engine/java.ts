import { spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installed } from '../../../tools/pinot/jvm.ts';
import { execute } from '../../support/execute.ts';

/** A program of `oracle/` with the classes of one version of Pinot. */
export interface Program {
  readonly version: string;
  /** Of `java`. */
  readonly arguments: readonly string[];
}

export interface Programs {
  readonly versions: readonly Program[];
  readonly remove: () => Promise<void>;
}

/** Compiles a program of `oracle/`, once for all versions: that of the test cluster, and those whose parsers are installed. */
export async function startPrograms(name: 'Oracle' | 'Planner'): Promise<Programs> {
  const [own, others] = [await installed('pinot'), await installed('pinot-parsers')];
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-oracle-'));
  const source = join(import.meta.dirname, `oracle/${name}.java`);
  await execute('javac', ['-encoding', 'UTF-8', '-nowarn', '-cp', join(own, 'lib/*'), '-d', folder, source]);
  // A validator throws for every second text: traces of its stack take most of the time.
  const settings = [
    '-Xmx512m',
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    '-XX:-StackTraceInThrowable',
    '-Dlog4j2.level=OFF',
  ];
  const program = (version: string, home: string): Program => ({
    version,
    arguments: [...settings, '-cp', `${folder}:${join(home, 'lib/*')}`, name],
  });
  const versions = (await readdir(others)).toSorted();
  return {
    versions: [program('0.11.0', own), ...versions.map((version) => program(version, join(others, version)))],
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

/** What a program prints without input. */
export async function output(program: readonly string[]): Promise<string> {
  return (await execute('java', program)).stdout;
}

/** Longest time until the next line of a program: the start of Java on a busy machine, or one text. */
const MAX_SILENCE_MS = 60_000;

/** Writes lines to a program, which answers each with one line. @param onAnswer gets the index and the answer of each line, in order */
export async function answers(
  program: readonly string[],
  lines: readonly string[],
  onAnswer: (index: number, answer: string) => void,
): Promise<void> {
  const child = spawn('java', program, { stdio: ['pipe', 'pipe', 'ignore'] });
  const ended = new Promise((resolve) => child.once('close', resolve));
  child.once('error', () => child.kill());
  child.stdin.on('error', () => child.kill());
  child.stdin.end(lines.map((line) => `${line}\n`).join(''));
  const silence = setTimeout(() => child.kill('SIGKILL'), MAX_SILENCE_MS);
  let index = 0;
  for await (const answer of createInterface({ input: child.stdout })) {
    silence.refresh();
    onAnswer(index++, answer);
  }
  clearTimeout(silence);
  await ended;
  if (index !== lines.length)
    throw new Error(
      `the program answered ${index} of ${lines.length} texts and ended, or was silent for ${MAX_SILENCE_MS} ms`,
    );
}

export function decoded(text: string): string {
  return Buffer.from(text, 'base64').toString();
}
