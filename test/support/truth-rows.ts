import { createHash } from 'node:crypto';
import type { ReadColumns } from './truth-readers.ts';

/** Rows whose values are functions of their number, so that any part of a result can be compared without the rest. */

const CITIES = ['New York', 'Zürich', 'São Paulo', '"quoted", Inc', '東京', 'a\\b\r\nc', ''];
const FIRST_ID = 9_007_199_254_740_993n;

/** A long that cannot be represented as a double. */
const idOf = (i: number): bigint => (i % 2 === 0 ? FIRST_ID + BigInt(i) : -FIRST_ID - BigInt(i));
const cityOf = (i: number): string | null => (i % 11 === 0 ? null : (CITIES[i % 7] as string));
const priceText = (i: number): string => `${(i * 7919) % 100_000}.${i % 10}${(i % 9) + 1}`;
/** Hundredths are exact as a double, so that their quotient is the nearest double of the text. */
const priceOf = (i: number): number => (((i * 7919) % 100_000) * 100 + (i % 10) * 10 + (i % 9) + 1) / 100;
const tagsOf = (i: number): (string | null)[] => (i % 5 === 0 ? [] : [`t${i % 5}`, i % 13 === 0 ? null : ',"]']);

export const TRUTH_COLUMNS = {
  columnNames: ['id', 'city', 'price', 'tags'],
  columnDataTypes: ['LONG', 'STRING', 'DOUBLE', 'STRING_ARRAY'],
};

const quoted = (text: string): string => (/[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);
const csvText = (city: string | null): string => (city === null ? '' : city === '' ? '""' : quoted(city));

/** The spellings of the cities and tags of all rows, which repeat. */
const CITY_JSON = new Map<string | null, string>();
const CITY_CSV = new Map<string | null, string>();
for (const city of [null, ...CITIES]) {
  CITY_JSON.set(city, JSON.stringify(city));
  CITY_CSV.set(city, csvText(city));
}
const TAG_PERIOD = 65;
const TAGS = Array.from({ length: TAG_PERIOD }, (_, i) => tagsOf(i));
const TAGS_JSON = TAGS.map((tags) => JSON.stringify(tags));
const TAGS_CSV = TAGS_JSON.map(quoted);

/** A row in the engine's JSON. */
const rowOf = (i: number): string =>
  `[${idOf(i)},${CITY_JSON.get(cityOf(i))},${priceText(i)},${TAGS_JSON[i % TAG_PERIOD]}]`;
/** A row in CSV. */
const csvOf = (i: number): string =>
  `${idOf(i)},${CITY_CSV.get(cityOf(i))},${priceText(i)},${TAGS_CSV[i % TAG_PERIOD]}\r\n`;

/** Rows that are made at once. */
const CHUNK = 10_000;

/** The first `count` rows, in their formats of text. */
export class TruthRows {
  readonly count: number;
  /** Rows of a page. */
  readonly pageRows: number;
  /** All rows in JSON, separated by commas. */
  readonly json: Buffer;
  /** SHA-256 of the rows as JSON lines and as CSV with its header. */
  readonly jsonlHash: string;
  readonly csvHash: string;
  /** Where each page begins in `json`, and one byte after the comma that would follow the last one. */
  readonly #pages: number[] = [0];

  constructor(count: number, pageRows: number) {
    this.count = count;
    this.pageRows = pageRows;
    const pieces: Buffer[] = [];
    const jsonl = createHash('sha256');
    const csv = createHash('sha256').update(`${TRUTH_COLUMNS.columnNames.join(',')}\r\n`);
    let bytes = 0;
    for (let from = 0; from < count; from += CHUNK) {
      const numbers = Array.from({ length: Math.min(CHUNK, count - from) }, (_, i) => from + i);
      const rows = numbers.map(rowOf);
      jsonl.update(`${rows.join('\n')}\n`);
      csv.update(numbers.map(csvOf).join(''));
      for (const [i, row] of rows.entries()) {
        bytes += Buffer.byteLength(row) + 1;
        if ((from + i + 1) % pageRows === 0 || from + i + 1 === count) this.#pages.push(bytes);
      }
      pieces.push(Buffer.from(`${rows.join(',')},`));
    }
    this.json = Buffer.concat(pieces, Math.max(0, bytes - 1));
    this.jsonlHash = jsonl.digest('hex');
    this.csvHash = csv.digest('hex');
  }

  /** The answer of an engine with all rows. */
  answer(): Buffer {
    const schema = JSON.stringify(TRUTH_COLUMNS);
    return Buffer.concat([
      Buffer.from(`{"resultTable":{"dataSchema":${schema},"rows":[`),
      this.json,
      Buffer.from(']},"exceptions":[]}'),
    ]);
  }

  /** The first row of each page. */
  offsets(): number[] {
    return Array.from({ length: this.#pages.length - 1 }, (_, page) => page * this.pageRows);
  }

  /** Whether the JSON of a page has its rows, byte for byte. @param offset one of `offsets()` */
  isPage(offset: number, body: Buffer): boolean {
    const page = offset / this.pageRows;
    const [from, end] = [this.#pages[page] as number, (this.#pages[page + 1] as number) - 1];
    const key = '"rows":[';
    const at = body.indexOf(key) + key.length;
    const to = at + end - from;
    return at >= key.length && body[to] === 0x5d && body.compare(this.json, from, end, at, to) === 0;
  }
}

/**
 * Reads columns up to the first batch with a wrong value.
 * @param numberOf the number of the row at a place; the place itself where absent
 * @returns the number of rows in the batches before it
 */
export async function trueRows(
  batches: AsyncIterable<ReadColumns>,
  numberOf: (place: number) => number = (place) => place,
): Promise<number> {
  let rows = 0;
  for await (const { id = [], city = [], price = [], tags = [] } of batches) {
    if ([city, price, tags].some(({ length }) => length !== id.length)) break;
    const isWrong = (_: unknown, i: number): boolean => {
      const row = numberOf(rows + i);
      const isRow = id[i] === idOf(row) && (city[i] ?? null) === cityOf(row) && price[i] === priceOf(row);
      return !isRow || !areTags(tags[i] as ArrayLike<unknown>, TAGS[row % TAG_PERIOD] as readonly (string | null)[]);
    };
    if (Array.prototype.some.call(id, isWrong)) break;
    rows += id.length;
  }
  return rows;
}

function areTags(tags: ArrayLike<unknown>, expected: readonly (string | null)[]): boolean {
  return tags.length === expected.length && expected.every((tag, i) => (tags[i] ?? null) === tag);
}

/** Whether a row has no null, no empty text and no empty list, which an engine without nulls would replace. */
export const isComplete = (i: number): boolean =>
  Boolean(cityOf(i)) &&
  (TAGS[i % TAG_PERIOD] as unknown[]).length > 0 &&
  !(TAGS[i % TAG_PERIOD] as unknown[]).includes(null);

/** A row as an object in JSON, with its number, for a table of an engine. */
export const objectOf = (i: number): string =>
  `{"number":${i},"id":${idOf(i)},"city":${CITY_JSON.get(cityOf(i))},"price":${priceText(i)},"tags":${TAGS_JSON[i % TAG_PERIOD]}}`;
