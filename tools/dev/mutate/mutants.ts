// The changes that `make mutate` tries: each replaces one operator of an expression.
import { createHash } from 'node:crypto';
import { type ESTree, parseSync, Visitor } from 'vite';

export interface Mutant {
  readonly file: string;
  /** From 1; the line of the operator. */
  readonly line: number;
  /** The trimmed text of that line. */
  readonly code: string;
  /** For example `&& → ||`. */
  readonly change: string;
  /** From 1; counts the same change on the same text in a file. */
  readonly occurrence: number;
  /** UTF-16 offsets of the expression. */
  readonly start: number;
  readonly end: number;
  /** The changed expression. */
  readonly replacement: string;
}

const OPPOSITES: Readonly<Record<string, string>> = {
  '===': '!==',
  '!==': '===',
  '<': '<=',
  '<=': '<',
  '>': '>=',
  '>=': '>',
  '&&': '||',
  '||': '&&',
  '??': '&&',
  '+': '-',
  '-': '+',
  '*': '/',
  '/': '*',
  '%': '*',
  '+=': '-=',
  '-=': '+=',
  '++': '--',
  '--': '++',
};

type Binary =
  | ESTree.BinaryExpression
  | ESTree.PrivateInExpression
  | ESTree.LogicalExpression
  | ESTree.AssignmentExpression;

/** @returns one mutant for each operator of the TypeScript source, in the order of the text */
export function mutantsOf(file: string, source: string): Mutant[] {
  const found: Omit<Mutant, 'occurrence'>[] = [];
  const text = ({ start, end }: ESTree.Span): string => source.slice(start, end);
  function add({ start, end }: ESTree.Span, at: number, change: string, replacement: string): void {
    const line = source.slice(0, at).split('\n').length;
    const code = (source.split('\n')[line - 1] ?? '').trim();
    found.push({ file, line, code, change, start, end, replacement });
  }
  function binary(node: Binary): void {
    const to = OPPOSITES[node.operator];
    if (to === undefined || joinsText(node)) return;
    const at = source.indexOf(node.operator, node.left.end);
    const left = node.type === 'AssignmentExpression' ? text(node.left) : `(${text(node.left)})`;
    add(node, at, `${node.operator} → ${to}`, `${left} ${to} (${text(node.right)})`);
  }
  const { program, errors } = parseSync(file, source);
  if (errors[0] !== undefined) throw new Error(`cannot parse ${file}: ${errors[0].message}`);
  new Visitor({
    BinaryExpression: binary,
    LogicalExpression: binary,
    AssignmentExpression: binary,
    UnaryExpression(node) {
      if (node.operator === '!') add(node, node.start, `! → nothing`, text(node.argument));
    },
    UpdateExpression(node) {
      const operator = OPPOSITES[node.operator] ?? '';
      const operand = text(node.argument);
      const at = node.prefix ? node.start : node.argument.end;
      add(node, at, `${node.operator} → ${operator}`, node.prefix ? operator + operand : operand + operator);
    },
    ReturnStatement({ argument }) {
      if (argument?.type !== 'Literal' || typeof argument.value !== 'boolean') return;
      add(argument, argument.start, `${argument.value} → ${!argument.value}`, String(!argument.value));
    },
  }).visit(program);
  const seen = new Map<string, number>();
  return found
    .toSorted((a, b) => a.start - b.start || b.end - a.end)
    .map((mutant) => {
      const key = `${mutant.code}\n${mutant.change}`;
      const occurrence = (seen.get(key) ?? 0) + 1;
      seen.set(key, occurrence);
      return { ...mutant, occurrence };
    });
}

/** Whether `+` or `+=` joins texts: the compiler rejects `-` for them. */
function joinsText(node: Binary): boolean {
  const isText = (side: ESTree.Node): boolean =>
    side.type === 'TemplateLiteral' ||
    (side.type === 'Literal' && typeof side.value === 'string') ||
    (side.type === 'ParenthesizedExpression' && isText(side.expression)) ||
    (side.type === 'BinaryExpression' && joinsText(side));
  return (node.operator === '+' || node.operator === '+=') && (isText(node.left) || isText(node.right));
}

/** What stays the same while other parts of the file change. */
export function keyOf({
  file,
  code,
  change,
  occurrence,
}: Omit<Mutant, 'line' | 'start' | 'end' | 'replacement'>): string {
  return [file, code, change, occurrence].join('\n');
}

/**
 * Chooses `count` mutants, from each folder in proportion to the number of its operators. A change elsewhere in the sources changes few of the choices.
 * @param folders the mutants of each folder
 */
export function sample(folders: readonly (readonly Mutant[])[], count: number, seed: number): Mutant[] {
  const total = folders.reduce((sum, mutants) => sum + mutants.length, 0);
  const rank = (mutant: Mutant): string =>
    createHash('sha256')
      .update(`${seed}\n${keyOf(mutant)}`)
      .digest('hex');
  let before = 0;
  return folders.flatMap((mutants) => {
    // Differences of rounded running sums: they add up to `count`.
    const from = Math.round((count * before) / total);
    before += mutants.length;
    const share = Math.round((count * before) / total) - from;
    const ranked = mutants.map((mutant) => ({ mutant, rank: rank(mutant) }));
    return ranked
      .toSorted((a, b) => (a.rank < b.rank ? -1 : 1))
      .slice(0, share)
      .map(({ mutant }) => mutant);
  });
}

/**
 * Adds the mutants to the source of their file, so that `__mutant(id)` decides at run time whether one applies: the same modules serve all mutants.
 * @param ids the mutants of this file by their id
 */
export function instrument(source: string, ids: ReadonlyMap<number, Mutant>): string {
  const inserts = [...ids].flatMap(([id, { start, end, replacement }]) => [
    { at: start, size: end - start, text: `(__mutant(${id}) ? (${replacement}) : (` },
    { at: end, size: 0, text: '))' },
  ]);
  let result = '';
  let copied = 0;
  // At the same offset the ends come first, then the outer expressions.
  const order = inserts.toSorted((a, b) => a.at - b.at || Number(a.size > 0) - Number(b.size > 0) || b.size - a.size);
  for (const { at, text } of order) {
    result += source.slice(copied, at) + text;
    copied = at;
  }
  return result + source.slice(copied);
}
