import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { installed } from '../../tools/pinot/jvm.ts';

const COMPILE_LIMIT_MS = 300_000;
const RUN_LIMIT_MS = 180_000;

export interface ParserFigures {
  /** CPU of the parsing thread for all texts, median of the rounds. */
  readonly cpuMs: number;
  /** The table of each text. */
  readonly tables: readonly string[];
}

/** Pinot's own parser (0.11.0) in a warm JVM with its optimizing compiler; it decides nothing and prints nothing. */
export async function measurePinotParser(
  texts: readonly string[],
  { warmup, rounds }: { readonly warmup: number; readonly rounds: number },
): Promise<ParserFigures> {
  const jars = join(await installed('pinot'), 'lib/*');
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-parser-'));
  try {
    const source = join(import.meta.dirname, 'PinotParser.java');
    await promisify(execFile)('javac', ['-encoding', 'UTF-8', '-nowarn', '-cp', jars, '-d', folder, source], {
      timeout: COMPILE_LIMIT_MS,
    });
    const options = ['-Xmx512m', '-XX:+UseSerialGC', '-Dlog4j2.level=OFF', '-cp', `${folder}:${jars}`];
    const child = spawn('java', [...options, 'PinotParser', String(warmup), String(rounds)], {
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: RUN_LIMIT_MS,
    });
    const exited = once(child, 'exit');
    child.stdin.end(texts.map((text) => `${Buffer.from(text).toString('base64')}\n`).join(''));
    const lines = (await readText(child.stdout)).trim().split('\n');
    const [code] = (await exited) as [number | null];
    if (code !== 0 || lines.length !== texts.length + 1) {
      throw new Error(`Pinot's parser ended with ${code} after ${lines.length} of ${texts.length} texts`);
    }
    return { cpuMs: Number(lines.at(-1)) / 1e6, tables: lines.slice(0, -1) };
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
