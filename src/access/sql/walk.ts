import { KEYWORDS, MARKS, type Keyword, type Mark } from './keywords.ts';
import type {
  Alias,
  Call,
  Column,
  From,
  Join,
  Leaf,
  NamedTable,
  Node,
  Part,
  Query,
  QueryInParentheses,
  Script,
  Select,
  SelectItem,
  Sequence,
  Statement,
  Unnest,
} from './tree.ts';

/** One leaf for each keyword and mark: a long text has tens of thousands of them. */
const KEYWORD_LEAVES: ReadonlyMap<Keyword, Leaf> = new Map(KEYWORDS.map((text) => [text, { kind: 'keyword', text }]));
const MARK_LEAVES: ReadonlyMap<Mark, Leaf> = new Map(MARKS.map((text) => [text, { kind: 'mark', text }]));

export function keywordLeaf(text: Keyword): Leaf {
  return KEYWORD_LEAVES.get(text) as Leaf;
}

export function markLeaf(text: Mark): Leaf {
  return MARK_LEAVES.get(text) as Leaf;
}

/** What is printed in place of a node or a column. It is asked for the nodes and columns within its results too. */
export type Rewrite = (part: Node | Column) => Part;

/** The leaves of a text in the order in which they are printed. Linear, and without recursion. */
export class Leaves {
  /** Lists around the current one that are not at their end, the innermost one last. */
  readonly #lists: Children[] = [];
  readonly #places: number[] = [];
  #list: Children;
  #at = 0;

  readonly #rewrite: Rewrite | undefined;

  constructor(root: Part, rewrite?: Rewrite) {
    this.#list = [root];
    this.#rewrite = rewrite;
  }

  /** @returns undefined at the end */
  next(): Leaf | undefined {
    for (;;) {
      if (this.#at >= this.#list.length) {
        const list = this.#lists.pop();
        if (list === undefined) return undefined;
        this.#list = list;
        this.#at = this.#places.pop() as number;
        continue;
      }
      const part = this.#shown(this.#list[this.#at++]);
      if (part === undefined) continue;
      if (isLeaf(part)) return part;
      if (this.#at < this.#list.length) {
        this.#lists.push(this.#list);
        this.#places.push(this.#at);
      }
      this.#list = partsOf(part);
      this.#at = 0;
    }
  }

  #shown(part: Part | undefined): Part | undefined {
    if (this.#rewrite === undefined || part === undefined) return part;
    return part.kind === 'column' || !isLeaf(part) ? this.#rewrite(part) : part;
  }
}

/** Absent parts are undefined. */
type Children = readonly (Part | undefined)[];

export function isLeaf(part: Part): part is Leaf {
  switch (part.kind) {
    case 'mark':
    case 'keyword':
    case 'column':
    case 'string':
    case 'number':
    case 'name':
    case 'bare':
    case 'table':
    case 'common-table':
    case 'lookup':
    case 'text':
    case 'hints':
    case 'options':
      return true;
    default:
      return false;
  }
}

const OPEN = markLeaf('(');
const CLOSE = markLeaf(')');
const COMMA = markLeaf(',');
const AS = keywordLeaf('AS');
const WITH = keywordLeaf('WITH');
const SELECT = keywordLeaf('SELECT');
const FROM = keywordLeaf('FROM');
const WHERE = keywordLeaf('WHERE');
const GROUP_BY = words('GROUP', 'BY');
const ORDER_BY = words('ORDER', 'BY');

/** The parts of a node in the order of the text. */
function partsOf(node: Node): Children {
  switch (node.kind) {
    case 'sequence':
      return node.parts;
    case 'call':
      return [node.name, OPEN, node.arguments, CLOSE, node.tail];
    case 'select':
      return partsOfSelect(node);
    case 'select-item':
      return [node.expression, node.alias];
    case 'alias':
      return [AS, name(node.name), columns(node.columns)];
    case 'query':
      return [node.with, node.first, ...node.operations, node.orderBy && ORDER_BY, node.orderBy, node.limits];
    case 'query-in-parentheses':
      return [OPEN, node.query, CLOSE];
    case 'from':
      return [node.first, ...node.joins];
    case 'named-table':
      return [node.name, node.hints, node.systemTime && SYSTEM_TIME, node.systemTime, node.pivot, node.alias];
    default:
      return partsOfRareNode(node);
  }
}

function partsOfSelect(select: Select): Children {
  const { quantifier, from, where, groupBy, having, windows, qualify } = select;
  return [
    SELECT,
    select.hints,
    quantifier && keywordLeaf(quantifier),
    separated(COMMA, select.items),
    from && FROM,
    from,
    where && WHERE,
    where,
    groupBy && GROUP_BY,
    groupBy,
    having && keywordLeaf('HAVING'),
    having,
    windows && keywordLeaf('WINDOW'),
    windows,
    qualify && keywordLeaf('QUALIFY'),
    qualify,
  ];
}

const SYSTEM_TIME = words('FOR', 'SYSTEM_TIME', 'AS', 'OF');

type RareNode = Exclude<
  Node,
  Sequence | Call | Select | SelectItem | Alias | Query | QueryInParentheses | From | NamedTable
>;

function partsOfRareNode(node: RareNode): Children {
  switch (node.kind) {
    case 'with':
      return [WITH, optional(node.isRecursive, 'RECURSIVE'), separated(COMMA, node.tables)];
    case 'common-table-definition':
      return [{ kind: 'common-table', table: node.table }, columns(node.columns), AS, OPEN, node.query, CLOSE];
    case 'set-operation':
      return [keywordLeaf(node.operator), node.quantifier && keywordLeaf(node.quantifier), node.term];
    case 'values':
      return [keywordLeaf('VALUES'), node.rows];
    case 'table-term':
      return [keywordLeaf('TABLE'), node.table];
    case 'join':
      return partsOfJoin(node);
    case 'derived-table':
      return [optional(node.isLateral, 'LATERAL'), OPEN, node.content, CLOSE, node.pivot, node.alias];
    case 'unnest':
      return partsOfUnnest(node);
    default:
      return partsOfStatement(node);
  }
}

function partsOfStatement(node: Script | Statement): Children {
  switch (node.kind) {
    case 'script':
      return [separated(markLeaf(';'), node.statements)];
    case 'set':
      return [keywordLeaf('SET'), { kind: 'name', parts: node.name }, markLeaf('='), node.value];
    case 'describe': {
      const column = node.column === undefined ? undefined : name(node.column);
      return [keywordLeaf('DESCRIBE'), optional(node.hasTableWord, 'TABLE'), node.table, column];
    }
    case 'statement':
      return [node.explain && words('EXPLAIN', ...node.explain, 'FOR'), node.query, ...node.options];
  }
}

function partsOfUnnest({ isLateral, content, hasOrdinality, alias }: Unnest): Children {
  const ordinality = hasOrdinality ? words('WITH', 'ORDINALITY') : undefined;
  return [optional(isLateral, 'LATERAL'), keywordLeaf('UNNEST'), OPEN, content, CLOSE, ordinality, alias];
}

function partsOfJoin({ words: joinWords, item, match, on, using }: Join): Children {
  return [
    joinWords.length === 0 ? COMMA : words(...joinWords),
    item,
    match && keywordLeaf('MATCH_CONDITION'),
    match,
    on && keywordLeaf('ON'),
    on,
    using && keywordLeaf('USING'),
    columns(using),
  ];
}

function optional(isThere: boolean, word: Keyword): Leaf | undefined {
  return isThere ? keywordLeaf(word) : undefined;
}

function words(...keywords: readonly Keyword[]): Sequence {
  return { kind: 'sequence', parts: keywords.map(keywordLeaf) };
}

function name(text: string): Leaf {
  return { kind: 'name', parts: [text] };
}

/** `(a, b)` */
function columns(names: readonly string[] | undefined): Sequence | undefined {
  return names && { kind: 'sequence', parts: [OPEN, separated(COMMA, names.map(name)), CLOSE] };
}

/** Parts, at least one, with a mark between them. */
function separated(mark: Leaf, parts: readonly Part[]): Part {
  if (parts.length === 1) return parts[0] as Part;
  const all: Part[] = [];
  for (const part of parts) {
    if (all.length > 0) all.push(mark);
    all.push(part);
  }
  return { kind: 'sequence', parts: all };
}
