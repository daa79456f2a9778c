import type { ColumnIndex } from '../snapshot.ts';
import { tokenIs, tokenText, type JsonVisitor } from './json-scanner.ts';

const INDEXES = Buffer.from('indexes');
const YES = Buffer.from('YES');

/**
 * Holds the columns and indexes of segments against what schema and table configuration ask for, on an engine that does not itself tell
 * whether a segment needs a reload. Reads `{segment: {…, "indexes": {column: {"inverted-index": "YES", …}}}}`.
 *
 * A column or index that is there and no longer asked for is no reason: a sorted column has an inverted index that nobody asked for.
 */
export class IndexVisitor implements JsonVisitor {
  /** Segments that were read. */
  segments = 0;
  /** Segments that lack a column or an index. */
  readonly stale: string[] = [];
  /** Indexes that the engine's metadata does not speak of. */
  readonly untold: string[] = [];
  readonly #columns: readonly string[];
  readonly #indexes: readonly ColumnIndex[];
  #segment = '';
  #inIndexes = false;
  #column = '';
  readonly #seenColumns = new Set<string>();
  /** `column index`, and whether the segment has it. */
  readonly #seen = new Map<string, boolean>();
  #index = '';

  constructor(expected: { columns: readonly string[]; indexes: readonly ColumnIndex[] }) {
    this.#columns = expected.columns;
    this.#indexes = expected.indexes;
  }

  key(bytes: Buffer, start: number, end: number, depth: number): void {
    if (depth === 1) this.#segment = tokenText(bytes, start, end);
    else if (depth === 2) this.#inIndexes = tokenIs(bytes, start, end, INDEXES);
    else if (!this.#inIndexes) return;
    else if (depth === 3) this.#seenColumns.add((this.#column = tokenText(bytes, start, end)));
    else if (depth === 4) this.#index = tokenText(bytes, start, end);
  }

  scalar(bytes: Buffer, start: number, end: number, depth: number): void {
    if (this.#inIndexes && depth === 4)
      this.#seen.set(`${this.#column} ${this.#index}`, tokenIs(bytes, start, end, YES));
  }

  endObject(depth: number): void {
    if (depth !== 2) return;
    this.segments += 1;
    if (this.#isStale()) this.stale.push(this.#segment);
    this.#seenColumns.clear();
    this.#seen.clear();
    this.#inIndexes = false;
  }

  #isStale(): boolean {
    if (this.#columns.some((column) => !this.#seenColumns.has(column))) return true;
    let stale = false;
    for (const { column, index } of this.#indexes) {
      const present = this.#seen.get(`${column} ${index}`);
      if (present === false) stale = true;
      if (present === undefined && this.#seenColumns.has(column)) this.#tellUntold(`\`${index}\` of \`${column}\``);
    }
    return stale;
  }

  #tellUntold(what: string): void {
    if (!this.untold.includes(what)) this.untold.push(what);
  }
}
