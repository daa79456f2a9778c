import { judgingSql, judgeSql, type JudgedSql, type RefusedSql, type SqlContext } from '../../../access/sql/judge.ts';
import { SQL_LIMITS, type SqlLimits } from '../../../access/sql/limits.ts';
import { LruCache } from '../../../platform/lru.ts';
import { inTurns, type Turn } from '../../../platform/long-work.ts';

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

  /** Maximum bytes of one text. */
  get maxBytes(): number {
    return this.#limits.bytes;
  }

  /**
   * Same result as `judgeSql`.
   * @param turn for each part of a long text; there is no promise for others
   */
  judge(
    sql: string,
    { database, queryOptions, multistage }: Omit<SqlContext, 'limits'>,
    turn: Turn,
  ): JudgedSql | RefusedSql | Promise<JudgedSql | RefusedSql> {
    const context = { database, queryOptions, multistage, limits: this.#limits };
    if (sql.length + (queryOptions?.length ?? 0) > MAX_LENGTH) return judgeLong(sql, context, turn);
    const key = JSON.stringify([sql, database, queryOptions, multistage]);
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const judged = judgeSql(sql, context);
    if (lengthOf(judged) <= MAX_FOUND_LENGTH) this.#known.set(key, judged);
    return judged;
  }
}

/** The JSON of the request was parsed in the turn before. */
async function judgeLong(sql: string, context: SqlContext, turn: Turn): Promise<JudgedSql | RefusedSql> {
  await turn();
  return inTurns(judgingSql(sql, context), turn);
}

function lengthOf(judged: JudgedSql | RefusedSql): number {
  if (!judged.ok) return judged.reason.length;
  return judged.tables.reduce((sum, { length }) => sum + length, judged.text.length);
}
