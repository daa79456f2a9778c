import { execFile, spawn } from 'node:child_process';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';

const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');

/** How a version of the engine parses a text. */
export interface Reading {
  /** Equal for two texts with the same parse tree. */
  readonly tree: string;
  readonly tables: readonly string[];
  /** `key=value` */
  readonly options: readonly string[];
  /** Of the single-stage engine; -1 if only the multi-stage engine accepts the text. */
  readonly limit: number;
}

/** The SQL parsers of Pinot: the version of the test cluster, and other versions. */
export interface Oracles {
  readonly versions: readonly Oracle[];
  readonly remove: () => Promise<void>;
}

export async function startOracles(): Promise<Oracles> {
  const [own, others] = [await installed('pinot'), await installed('pinot-parsers')];
  const folder = await compiled(join(own, 'lib/*'));
  const versions = (await readdir(others)).toSorted();
  return {
    versions: [
      new Oracle('0.11.0', `${folder}:${join(own, 'lib/*')}`),
      ...versions.map((version) => new Oracle(version, `${folder}:${join(others, version, 'lib/*')}`)),
    ],
    remove: () => rm(folder, { recursive: true, force: true }),
  };
}

async function installed(part: string): Promise<string> {
  const { stdout } = await run(join(ROOT, 'tools/install.sh'), [part], { timeout: 600_000 });
  return stdout.trim();
}

/** Compiles the program that parses texts, once for all versions. @returns its class path */
async function compiled(jars: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-oracle-'));
  await run('javac', ['-nowarn', '-cp', jars, '-d', folder, join(import.meta.dirname, 'oracle/Oracle.java')]);
  return folder;
}

interface Answer {
  readonly error?: string;
  readonly tree: string;
  readonly tables: readonly string[];
  readonly options: readonly string[];
  readonly limit: number;
}

/** The SQL parser of one version. */
export class Oracle {
  readonly version: string;
  readonly #arguments: readonly string[];

  constructor(version: string, classPath: string) {
    this.version = version;
    this.#arguments = [
      '-Xmx256m',
      '-XX:+UseSerialGC',
      '-XX:TieredStopAtLevel=1',
      '-Dlog4j2.level=OFF',
      '-cp',
      classPath,
      'Oracle',
    ];
  }

  /** The keywords of the grammar. */
  async words(): Promise<string[]> {
    const { stdout } = await run('java', [...this.#arguments, 'words']);
    return stdout.split('\n').filter((word) => /^[A-Z]\w*$/.test(word));
  }

  /** @param onReading gets the index and the parse of each text, in order; undefined if the engine rejects the text */
  async read(
    texts: readonly string[],
    onReading: (index: number, reading: Reading | undefined) => void,
  ): Promise<void> {
    const child = spawn('java', this.#arguments, { stdio: ['pipe', 'pipe', 'ignore'] });
    const ended = new Promise((resolve) => child.once('close', resolve));
    child.stdin.on('error', () => child.kill());
    child.stdin.end(texts.map((text) => `${Buffer.from(text || ' ').toString('base64')}\n`).join(''));
    let index = 0;
    for await (const line of createInterface({ input: child.stdout })) onReading(index++, reading(line));
    await ended;
    if (index !== texts.length) throw new Error(`the parser answered ${index} of ${texts.length} texts`);
  }
}

function reading(line: string): Reading | undefined {
  const { error, tree, tables, options, limit } = JSON.parse(line) as Answer;
  return error === undefined
    ? { tree: decoded(tree), tables: tables.map(decoded), options: options.map(decoded), limit }
    : undefined;
}

function decoded(text: string): string {
  return Buffer.from(text, 'base64').toString();
}
