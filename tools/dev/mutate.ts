// `make mutate`: changes one operator at a time and runs the unit tests of the file. A mutant that no test fails on is a survivor: a rule without a test, or a
// change without an effect. COUNT= mutants chosen by SEED=; ONLY= a folder or file. Works in a copy, so that the working tree is never changed.
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { Random } from '../../test/fuzz/http/random.ts';

const FOLDERS = ['src/access', 'src/results', 'src/health/checks', 'src/operator'];
const DEFAULT_COUNT = 300;
/** A mutant may loop for ever; this counts as found. */
const TEST_TIMEOUT_MS = 600_000;

/** Replacements; the source is formatted, so that binary operators have blanks around them and type arguments have not. */
const OPERATORS: readonly (readonly [from: string, to: string])[] = [
  [' === ', ' !== '],
  [' !== ', ' === '],
  [' <= ', ' < '],
  [' >= ', ' > '],
  [' < ', ' <= '],
  [' > ', ' >= '],
  [' && ', ' || '],
  [' || ', ' && '],
  [' + ', ' - '],
  [' - ', ' + '],
  [' * ', ' / '],
  ['if (!', 'if ('],
  ['return true;', 'return false;'],
  ['return false;', 'return true;'],
];

interface Mutant {
  readonly path: string;
  readonly at: number;
  readonly line: number;
  readonly from: string;
  readonly to: string;
}

/** The text with comments, strings and regular expressions blanked; the same length. Expressions in templates are blanked, too. */
export function codeOf(source: string): string {
  const literal =
    /\/\*[\s\S]*?\*\/|\/\/[^\n]*|'(?:[^'\\\n]|\\.)*'|"(?:[^"\\\n]|\\.)*"|`(?:[^`\\]|\\[\s\S])*`|(?<=[(=:,!&|?[]\s*)\/(?![*/])(?:[^/\\\n[]|\\.|\[(?:[^\]\\\n]|\\.)*\])+\//g;
  return source.replaceAll(literal, (text) => text.replaceAll(/[^\n]/g, '_'));
}

export function mutantsOf(path: string, source: string): Mutant[] {
  const code = codeOf(source);
  const mutants: Mutant[] = [];
  for (const [from, to] of OPERATORS) {
    for (let at = code.indexOf(from); at >= 0; at = code.indexOf(from, at + 1)) {
      mutants.push({ path, at, line: code.slice(0, at + 1).split('\n').length, from, to });
    }
  }
  return mutants;
}

function sample<T>(items: readonly T[], count: number, seed: number): T[] {
  const random = new Random(seed);
  return items
    .map((item) => ({ item, key: random.next() }))
    .toSorted((a, b) => a.key - b.key)
    .slice(0, count)
    .map(({ item }) => item);
}

/** The nearest folder of unit tests: `src/access/policy/glob.ts` → `test/unit/access/policy`. */
function testFolder(copy: string, path: string): string | undefined {
  for (let folder = dirname(path.replace(/^src\//, 'test/unit/')); folder !== 'test/unit'; folder = dirname(folder)) {
    if (existsSync(join(copy, folder)) && folder.split('/').length > 2) return folder;
  }
  return undefined;
}

/** @returns whether a test failed */
async function fails(copy: string, args: readonly string[]): Promise<boolean> {
  const common = ['--project', 'unit', '--bail=1', '--reporter=dot', '--passWithNoTests'];
  const child = spawn(join(copy, 'node_modules/.bin/vitest'), [...args, ...common], {
    cwd: copy,
    stdio: 'ignore',
    detached: true,
  });
  const timer = setTimeout(() => process.kill(-(child.pid ?? 0), 'SIGKILL'), TEST_TIMEOUT_MS);
  const [code] = (await once(child, 'exit')) as [number | null];
  clearTimeout(timer);
  return code !== 0;
}

/** Runs tests of mutants in a copy of the project. */
class Tests {
  readonly #copy: string;
  /** Whether a selection of tests passes without a mutant. */
  readonly #sound = new Map<string, boolean>();

  constructor(copy: string) {
    this.#copy = copy;
  }

  /** @returns whether a test notices the mutant; tests that fail without it do not count, and are reported */
  async notice(mutant: Mutant): Promise<boolean> {
    const folder = testFolder(this.#copy, mutant.path);
    // The nearest tests first: they find most mutants in a few seconds.
    if (folder !== undefined && (await this.#fail(['run', folder], mutant))) return true;
    return this.#fail(['related', '--run', mutant.path], mutant);
  }

  async #fail(args: readonly string[], { path, at, from, to }: Mutant): Promise<boolean> {
    const key = args.join(' ');
    if (!this.#sound.has(key)) {
      this.#sound.set(key, !(await fails(this.#copy, args)));
      if (!this.#sound.get(key)) process.stdout.write(`not used, because it fails without a mutant: vitest ${key}\n`);
    }
    if (!this.#sound.get(key)) return false;
    const file = join(this.#copy, path);
    const source = readFileSync(file, 'utf8');
    writeFileSync(file, source.slice(0, at) + to + source.slice(at + from.length));
    try {
      return await fails(this.#copy, args);
    } finally {
      writeFileSync(file, source);
    }
  }
}

async function main(): Promise<number> {
  const root = resolve(import.meta.dirname, '../..');
  const seed = Number(process.env['SEED'] || 1);
  const only = process.env['ONLY'];
  const selected = (only === undefined || only === '' ? FOLDERS : [only]).flatMap((entry) =>
    entry.endsWith('.ts') ? [entry] : globSync(`${entry}/**/*.ts`, { cwd: root }),
  );
  const paths = selected.filter((path) => !/generated|kernel\.ts$/.test(path)).toSorted();
  const all = paths.flatMap((path) => mutantsOf(path, readFileSync(join(root, path), 'utf8')));
  const mutants = sample(all, Number(process.env['COUNT'] || DEFAULT_COUNT), seed);
  process.stdout.write(`${mutants.length} of ${all.length} mutants in ${paths.length} files, SEED=${seed}\n`);
  const copy = mkdtempSync(join(tmpdir(), 'olap-warden-mutants-'));
  const survivors: Mutant[] = [];
  try {
    const files = execFileSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], { cwd: root });
    for (const file of files.toString().split('\0')) {
      if (file !== '' && existsSync(join(root, file))) cpSync(join(root, file), join(copy, file));
    }
    symlinkSync(join(root, 'node_modules'), join(copy, 'node_modules'));
    const tests = new Tests(copy);
    for (const [index, mutant] of mutants.entries()) {
      if (await tests.notice(mutant)) continue;
      survivors.push(mutant);
      const { path, line, from, to } = mutant;
      process.stdout.write(`survived (${index + 1}): ${path}:${line} \`${from.trim()}\` → \`${to.trim()}\`\n`);
    }
  } finally {
    rmSync(copy, { recursive: true, force: true });
  }
  process.stdout.write(`${survivors.length} of ${mutants.length} survived\n`);
  return 0;
}

if (import.meta.main) process.exitCode = await main();
