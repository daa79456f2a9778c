/** Why a text is rejected; the message does not contain the position. */
export class SqlRefusal extends Error {
  /** Offset in the text, in UTF-16 units. */
  readonly at: number;

  constructor(message: string, at = 0) {
    super(message);
    this.at = at;
  }
}

/** Line and column of an offset, both from 1. */
export function position(sql: string, at: number): { line: number; column: number } {
  let line = 1;
  let start = 0;
  for (let next = sql.indexOf('\n'); next >= 0 && next < at; next = sql.indexOf('\n', next + 1)) {
    line++;
    start = next + 1;
  }
  return { line, column: at - start + 1 };
}

export interface RefusedSql {
  readonly ok: false;
  /** One sentence: the error, its position (line, column, word), and what is expected. */
  readonly reason: string;
  /** Position of the error, from 1. */
  readonly line: number;
  readonly column: number;
}

/** @throws {unknown} the error, unless it is a refusal */
export function refusedSql(sql: string, error: unknown): RefusedSql {
  if (!(error instanceof SqlRefusal)) throw error;
  const { line, column } = position(sql, error.at);
  return { ok: false, reason: `line ${line}, column ${column}: ${error.message}`, line, column };
}
