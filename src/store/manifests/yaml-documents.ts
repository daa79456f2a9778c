import { isMap, isSeq, LineCounter, parseDocument, type Document } from 'yaml';

/** Path in an object, such as `spec`, `statements`, 0. */
export type ObjectPath = readonly (string | number)[];

/** A YAML text that cannot be read, or that is not what is expected. */
export class YamlError extends Error {
  /** From 1, in the file. */
  readonly line: number;

  constructor(message: string, line: number) {
    super(message);
    this.name = 'YamlError';
    this.line = line;
  }
}

/** One document of a YAML file. */
export interface YamlDocument {
  /** Lines of the file before its text. */
  readonly linesBefore: number;
  readonly text: string;
  readonly value: unknown;
}

const BEGIN = /^---(?=\s|$)/gmu;
/** A document with more aliases could be a million times its length. */
const MAX_ALIASES = 100;
/** YAML is a superset of JSON. The texts of errors would quote the source, which may contain a secret. */
const OPTIONS = { prettyErrors: false, logLevel: 'error' } as const;

/**
 * Reads YAML files, each text once: a file that two folders have is parsed once, and both get the same objects.
 * Lines are found when they are asked for, because to keep them takes as long as to parse.
 */
export class YamlReader {
  readonly #values = new Map<string, unknown>();

  /** The documents of a file that are not empty. @throws {YamlError} */
  documents(text: string): YamlDocument[] {
    const documents: YamlDocument[] = [];
    let linesBefore = 0;
    let from = 0;
    for (const end of [...Iterator.from(text.matchAll(BEGIN)).map(({ index }) => index), text.length]) {
      const part = text.slice(from, end);
      const value = this.#valueOf(part, linesBefore);
      if (value !== null && value !== undefined) documents.push({ linesBefore, text: part, value });
      linesBefore += part.split('\n').length - 1;
      from = end === text.length ? end : end + BEGIN_LENGTH;
    }
    return documents;
  }

  #valueOf(text: string, linesBefore: number): unknown {
    if (this.#values.has(text)) return this.#values.get(text);
    const document = parseDocument(text, OPTIONS);
    const [error] = document.errors;
    if (error !== undefined) {
      const line = text.slice(0, error.pos[0]).split('\n').length;
      throw new YamlError(`invalid YAML: ${error.code.toLowerCase().replaceAll('_', ' ')}`, linesBefore + line);
    }
    const value = plainValue(document, linesBefore);
    this.#values.set(text, value);
    return value;
  }
}

/** @throws {YamlError} for aliases that make a short text long */
function plainValue(document: Document.Parsed, linesBefore: number): unknown {
  try {
    return document.toJS({ maxAliasCount: MAX_ALIASES });
  } catch (error) {
    if (!(error instanceof ReferenceError)) throw error;
    throw new YamlError('invalid YAML: its aliases repeat too much', linesBefore + 1);
  }
}

const BEGIN_LENGTH = 3;

interface Lines {
  readonly lineCounter: LineCounter;
  readonly document: Document.Parsed;
}

/** Of documents that were asked for a line: one with many problems is parsed once more for all of them. */
const LINES = new WeakMap<object, Lines>();

function linesOf(of: Pick<YamlDocument, 'text'>): Lines {
  const known = LINES.get(of);
  if (known !== undefined) return known;
  const lineCounter = new LineCounter();
  const lines = { lineCounter, document: parseDocument(of.text, { ...OPTIONS, lineCounter }) };
  LINES.set(of, lines);
  return lines;
}

/** The line of a value in its file, from 1: of its field, or of the innermost one around it that exists. */
export function lineOf(document: Pick<YamlDocument, 'text' | 'linesBefore'>, path: ObjectPath): number {
  const { lineCounter, document: parsed } = linesOf(document);
  return document.linesBefore + lineCounter.linePos(offsetOf(parsed, path)).line;
}

function offsetOf(document: Document.Parsed, path: ObjectPath): number {
  let node: unknown = document.contents;
  let offset = startOf(node) ?? 0;
  for (const step of path) {
    if (isMap(node)) {
      const pair = node.items.find(({ key }) => (key as { value?: unknown } | null)?.value === step);
      if (pair === undefined) return offset;
      offset = startOf(pair.key) ?? offset;
      node = pair.value;
    } else if (isSeq(node) && typeof step === 'number') {
      node = node.items[step];
      offset = startOf(node) ?? offset;
    } else return offset;
  }
  return offset;
}

function startOf(node: unknown): number | undefined {
  return (node as { range?: readonly number[] | null } | null | undefined)?.range?.[0];
}
