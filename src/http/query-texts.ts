import { tablesOfSql, type SqlTables } from '../access/sql-tables.ts';
import { readSqlBody } from './engine-proxy/sql-request.ts';
import { HttpError } from './errors.ts';

/** Texts that are remembered; the one that came first goes first. */
const MAX_TEXTS = 1_000;
/** Longer ones are rare, and not sent again and again. */
const MAX_BYTES = 8 * 1024;

/** A text that was understood. */
export type ReadText = Extract<SqlTables, { ok: true }>;

const PLAIN = { headers: {} };

/**
 * Which tables bodies of queries read. Dashboards and programs send the same few texts over and over: what a text reads follows from its bytes alone,
 * so it is worked out once. Who may read what is no part of it.
 */
export class QueryTexts {
  readonly #known = new Map<string, ReadText | undefined>();

  /**
   * What a query names, as it spells it.
   * @param body JSON in UTF-8, not packed, with no database named beside it
   * @returns undefined where the text must be refused, for whatever reason
   */
  read(body: Buffer): ReadText | undefined {
    if (body.length > MAX_BYTES) return readText(body);
    // Each byte is a letter: two texts are the same only where all their bytes are.
    const key = body.toString('latin1');
    const known = this.#known.get(key);
    if (known !== undefined || this.#known.has(key)) return known;
    const text = readText(body);
    if (this.#known.size >= MAX_TEXTS) for (const first of this.#known.keys()) if (this.#known.delete(first)) break;
    this.#known.set(key, text);
    return text;
  }
}

function readText(body: Buffer): ReadText | undefined {
  try {
    const { sql, queryOptions } = readSqlBody(PLAIN, body);
    const found = tablesOfSql(sql, { queryOptions });
    return found.ok ? found : undefined;
  } catch (error) {
    if (error instanceof HttpError) return undefined;
    throw error;
  }
}
