import { judgingSql, judgeSql, type JudgedSql, type RefusedSql, type SqlContext } from '../../../access/sql/judge.ts';
import { SQL_LIMITS, type SqlLimits } from '../../../access/sql/limits.ts';
import { LruCache } from '../../../platform/lru.ts';
import { inTurns } from '../../../platform/parts.ts';

const MAX_TEXTS = 1_000;
/** Longer texts are rarely repeated, so they are not cached. */
const MAX_LENGTH = 8 * 1024;
/** Characters of the cached results; a result can be many times longer than its text. */
const MAX_FOUND_LENGTH = 16 * 1024;

/**
 * Caches the results of `judgeSql`, because clients repeat the same few texts. The tables of a query depend only on its text, database, options and path.
 * Authorization is not cached.
 */
export class JudgedTexts {
  readonly #known = new LruCache<string, JudgedSql | RefusedSql>({ maxWeight: MAX_TEXTS });
  readonly #limits: SqlLimits;

  constructor(limits: SqlLimits = SQL_LIMITS) {
    this.#limits = limits;
  }

  /**
   * Same result as `judgeSql`.
   * @param turn resolves when the next part of a long text may be judged
   */
  async judge(
    sql: string,
    { database, queryOptions, multistage }: Omit<SqlContext, 'limits'>,
    turn: () => Promise<void>,
  ): Promise<JudgedSql | RefusedSql> {
    const context = { database, queryOptions, multistage, limits: this.#limits };
    if (sql.length + (queryOptions?.length ?? 0) > MAX_LENGTH) return inTurns(judgingSql(sql, context), turn);
    const key = JSON.stringify([sql, database, queryOptions, multistage]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const judged = judgeSql(sql, context);
    if (lengthOf(judged) <= MAX_FOUND_LENGTH) this.#known.set(key, judged);
    return judged;
  }
}

function lengthOf(judged: JudgedSql | RefusedSql): number {
  if (!judged.ok) return judged.reason.length;
  return judged.tables.reduce((sum, { length }) => sum + length, judged.text.length);
}
