/** A name in SQL, in quotes where it needs them. */
export const sqlName = (name: string): string =>
  /^[A-Za-z_]\w*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`;

/** A query of all columns of a table. */
export const selectAll = (table: string, limit: number): string => `SELECT * FROM ${sqlName(table)} LIMIT ${limit}`;
