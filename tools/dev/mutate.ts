// `make mutate`: changes one operator at a time in a copy of the repository and runs the unit tests there, first those of the same folder, then all
// that import the file. A change that no test notices is a rule without a test, or has no effect. COUNT= changes, chosen by SEED=; ONLY= a folder or file.
import { type ChildProcess, spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { type ESTree, parseSync, Visitor } from 'vite';

const ROOT = resolve(import.meta.dirname, '../..');
const FOLDERS = ['src/access', 'src/results', 'src/health/checks', 'src/operator'];
/** The largest part of the changes that may survive. About half of the survivors of a run have no effect that a test could see. */
const MAX_SURVIVORS = 0.06;
/** A change may loop for ever. */
const [LIMIT_MS, FOLDER_LIMIT_MS] = [15 * 60_000, 2 * 60_000];
const FLAGS = ['--run', '--project=unit', '--bail=1', '--reporter=dot', '--passWithNoTests'];
const LEFT_OUT = /^(?:\.git|node_modules|build|data|web\/(?:node_modules|dist))$/;

const OPPOSITES: Readonly<Record<string, string>> = {
  ...{ '===': '!==', '!==': '===', '<': '<=', '<=': '<', '>': '>=', '>=': '>', '&&': '||', '||': '&&', '??': '&&' },
  ...{ '+': '-', '-': '+', '*': '/', '/': '*', '%': '*', '+=': '-=', '-=': '+=', '++': '--', '--': '++' },
};

interface Mutant {
  readonly file: string;
  readonly line: number;
  readonly code: string;
  readonly change: string;
  /** The whole file. */
  readonly text: string;
}

type Binary = Readonly<{ operator: string; left: ESTree.Node; right: ESTree.Node }>;

/** One mutant for each operator of a file. */
function mutantsOf(file: string): Mutant[] {
  const source = readFileSync(join(ROOT, file), 'utf8');
  const found: Mutant[] = [];
  const replace = (at: number, from: string, to: string): void => {
    const line = source.slice(0, at).split('\n').length;
    const code = (source.split('\n')[line - 1] ?? '').trim();
    const text = source.slice(0, at) + to + source.slice(at + from.length);
    found.push({ file, line, code, change: `${from} → ${to || 'nothing'}`, text });
  };
  const binary = ({ operator, left, right }: Binary): void => {
    const to = OPPOSITES[operator];
    // The compiler rejects `-` for texts.
    const joinsText = operator.startsWith('+') && [left, right].some((side) => isText(side));
    if (to !== undefined && !joinsText) replace(source.indexOf(operator, left.end), operator, to);
  };
  new Visitor({
    BinaryExpression: binary,
    LogicalExpression: binary,
    AssignmentExpression: binary,
    UnaryExpression: ({ operator, start }) => {
      if (operator === '!') replace(start, '!', '');
    },
    UpdateExpression: ({ operator, prefix, start, argument }) =>
      replace(prefix ? start : argument.end, operator, OPPOSITES[operator] ?? ''),
    ReturnStatement: ({ argument }) => {
      if (argument?.type !== 'Literal' || typeof argument.value !== 'boolean') return;
      replace(argument.start, String(argument.value), String(!argument.value));
    },
  }).visit(parseSync(file, source).program);
  // A mixture such as `a ?? b || c` is no program, which no test could accept.
  return found.filter(({ text }) => parseSync(file, text).errors.length === 0);
}

function isText(node: ESTree.Node): boolean {
  if (node.type === 'BinaryExpression') return node.operator === '+' && (isText(node.left) || isText(node.right));
  return node.type === 'TemplateLiteral' || (node.type === 'Literal' && typeof node.value === 'string');
}

/** Chooses by the text of the line, so that a change elsewhere in the sources changes few of the choices. */
function sample(mutants: readonly Mutant[], count: number, seed: string): Mutant[] {
  const rank = ({ file, code, change }: Mutant): string =>
    createHash('sha256').update([seed, file, code, change].join('\n')).digest('hex');
  const ranked = mutants.map((mutant) => ({ mutant, rank: rank(mutant) }));
  return ranked
    .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
    .flatMap(({ mutant }, at) => (at < count ? [mutant] : []));
}

let running: ChildProcess | undefined;

/** Vitest runs in a group of its own, so that its test processes are killed with it. */
function kill(): void {
  if (running?.pid !== undefined) process.kill(-running.pid, 'SIGKILL');
}

/** Runs Vitest in the copy. @returns whether all tests passed; false after the time limit, too */
async function passes(copy: string, args: readonly string[], limitMs: number, isShown = false): Promise<boolean> {
  const command = ['node_modules/vitest/vitest.mjs', ...args, ...FLAGS];
  const stdio = isShown ? 'inherit' : 'ignore';
  const child = (running = spawn(process.execPath, command, { cwd: copy, detached: true, stdio }));
  const timer = setTimeout(kill, limitMs);
  const code = await new Promise((done) => child.once('exit', done).once('error', done));
  running = undefined;
  clearTimeout(timer);
  return code === 0;
}

/** @returns whether a test fails */
async function isNoticed(copy: string, { file, text }: Mutant): Promise<boolean> {
  const original = readFileSync(join(copy, file), 'utf8');
  writeFileSync(join(copy, file), text);
  try {
    const folder = dirname(file).replace(/^src/, 'test/unit');
    if (existsSync(join(copy, folder)) && !(await passes(copy, ['run', folder], FOLDER_LIMIT_MS))) return true;
    return !(await passes(copy, ['related', file], LIMIT_MS));
  } finally {
    writeFileSync(join(copy, file), original);
  }
}

const print = (text: string): unknown => process.stdout.write(`${text}\n`);
async function main({ SEED, COUNT, ONLY }: NodeJS.ProcessEnv): Promise<number> {
  const paths = (ONLY ? [ONLY.replace(/\/$/, '')] : FOLDERS).flatMap((path) =>
    path.endsWith('.ts') ? [path] : globSync(`${path}/**/*.ts`, { cwd: ROOT }).toSorted(),
  );
  const all = paths.filter((file) => !file.includes('generated')).flatMap(mutantsOf);
  const mutants = sample(all, Number(COUNT || 300), SEED || '1');
  print(`${mutants.length} of ${all.length} operators`);
  const copy = mkdtempSync(join(tmpdir(), 'olap-warden-mutate-'));
  process.once('exit', () => {
    kill();
    rmSync(copy, { recursive: true, force: true, maxRetries: 5 });
  });
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(130));
  cpSync(ROOT, copy, { recursive: true, filter: (path) => !LEFT_OUT.test(path.slice(ROOT.length + 1)) });
  for (const folder of ['node_modules', 'web/dist']) symlinkSync(join(ROOT, folder), join(copy, folder));
  const files = [...new Set(mutants.map(({ file }) => file))];
  if (files.length === 0 || !(await passes(copy, ['related', ...files], 2 * LIMIT_MS, true))) {
    print('there is nothing to change, or the unit tests fail without a change: run `make test-unit`');
    return 1;
  }
  const survived: string[] = [];
  for (const [index, mutant] of mutants.entries()) {
    const where = `${mutant.file}:${mutant.line} \`${mutant.change}\``;
    const noticed = await isNoticed(copy, mutant);
    print(`[${index + 1}/${mutants.length}] ${noticed ? 'noticed ' : 'SURVIVED'} ${where}`);
    if (!noticed) survived.push(`${where}\n    ${mutant.code}`);
  }
  print(`\n${survived.join('\n')}\n${survived.length} of ${mutants.length} survived`);
  return survived.length > MAX_SURVIVORS * mutants.length ? 1 : 0;
}

process.exitCode = await main(process.env);
