import { tablesOfSql } from '../access/sql-tables.ts';
import { readSqlBody } from './engine-proxy/sql-request.ts';
import { HttpError } from './errors.ts';

/** Texts that are remembered; the one that came first goes first. */
const MAX_TEXTS = 1_000;
/** Longer ones are rare, and not sent again and again. */
const MAX_BYTES = 8 * 1024;

const PLAIN = { headers: {} };

/**
 * Which tables bodies of queries read. Dashboards and programs send the same few texts over and over: what a text reads follows from its bytes alone,
 * so it is worked out once. Who may read what is no part of it.
 */
export class QueryTexts {
  readonly #tables = new Map<string, readonly string[] | undefined>();

  /**
   * The tables that a query names, as it spells them.
   * @param body JSON in UTF-8, not packed, with no database named beside it
   * @returns undefined where the text must be refused, for whatever reason
   */
  tablesOf(body: Buffer): readonly string[] | undefined {
    if (body.length > MAX_BYTES) return readTables(body);
    // Each byte is a letter: two texts are the same only where all their bytes are.
    const key = body.toString('latin1');
    const known = this.#tables.get(key);
    if (known !== undefined || this.#tables.has(key)) return known;
    const tables = readTables(body);
    if (this.#tables.size >= MAX_TEXTS) for (const first of this.#tables.keys()) if (this.#tables.delete(first)) break;
    this.#tables.set(key, tables);
    return tables;
  }
}

function readTables(body: Buffer): readonly string[] | undefined {
  try {
    const { sql, queryOptions } = readSqlBody(PLAIN, body);
    const found = tablesOfSql(sql, { queryOptions });
    return found.ok ? found.tables : undefined;
  } catch (error) {
    if (error instanceof HttpError) return undefined;
    throw error;
  }
}
