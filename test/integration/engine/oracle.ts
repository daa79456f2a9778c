import { answers, decoded, output, startPrograms, type Program } from './java.ts';

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
  const { versions, remove } = await startPrograms('Oracle');
  return { versions: versions.map((program) => new Oracle(program)), remove };
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

  constructor(program: Program) {
    this.version = program.version;
    this.#arguments = program.arguments;
  }

  /** The keywords of the grammar. */
  async words(): Promise<string[]> {
    const words = await output([...this.#arguments, 'words']);
    return words.split('\n').filter((word) => /^[A-Z]\w*$/.test(word));
  }

  /** @param onReading gets the index and the parse of each text, in order; undefined if the engine rejects the text */
  async read(
    texts: readonly string[],
    onReading: (index: number, reading: Reading | undefined) => void,
  ): Promise<void> {
    const lines = texts.map((text) => Buffer.from(text || ' ').toString('base64'));
    await answers(this.#arguments, lines, (index, answer) => onReading(index, reading(answer)));
  }
}

function reading(line: string): Reading | undefined {
  const { error, tree, tables, options, limit } = JSON.parse(line) as Answer;
  return error === undefined
    ? { tree: decoded(tree), tables: tables.map(decoded), options: options.map(decoded), limit }
    : undefined;
}
