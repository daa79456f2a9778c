import { judgeSql, type JudgedSql, type RefusedSql, type SqlContext } from '../../../access/sql/judge.ts';
import { SQL_LIMITS, type SqlLimits } from '../../../access/sql/limits.ts';

/** Cache size; the least recently used text is removed first. */
const MAX_TEXTS = 1_000;
/** Longer texts are rarely repeated, so they are not cached. */
const MAX_LENGTH = 8 * 1024;
/** Characters of what was found, which can be many times those of the text. */
const MAX_FOUND_LENGTH = 16 * 1024;

/**
 * Caches the results of `judgeSql`, because clients repeat the same few texts. The tables of a query depend only on its text, database, options and path.
 * Authorization is not cached.
 */
export class JudgedTexts {
  readonly #known = new Map<string, JudgedSql | RefusedSql>();
  readonly #limits: SqlLimits;

  constructor(limits: SqlLimits = SQL_LIMITS) {
    this.#limits = limits;
  }

  /** Same result as `judgeSql`. */
  judge(sql: string, { database, queryOptions, multistage }: Omit<SqlContext, 'limits'>): JudgedSql | RefusedSql {
    const context = { database, queryOptions, multistage, limits: this.#limits };
    if (sql.length + (queryOptions?.length ?? 0) > MAX_LENGTH) return judgeSql(sql, context);
    const key = JSON.stringify([sql, database, queryOptions, multistage]);
    const known = this.#known;
    let judged = known.get(key);
    if (judged === undefined) judged = judgeSql(sql, context);
    else known.delete(key);
    if (lengthOf(judged) > MAX_FOUND_LENGTH) return judged;
    known.set(key, judged);
    if (known.size > MAX_TEXTS) {
      const [oldest] = known.keys();
      known.delete(oldest as string);
    }
    return judged;
  }
}

function lengthOf(judged: JudgedSql | RefusedSql): number {
  if (!judged.ok) return judged.reason.length;
  return judged.tables.reduce((sum, { length }) => sum + length, judged.text.length);
}
