import { addNames } from './names.ts';

/**
 * Table names that a name in a path, a parameter or a body may refer to.
 * @returns undefined if it is not a table name
 */
export function tableNames(name: string, database: string | undefined): readonly string[] | undefined {
  const names = new Set<string>();
  return addNames(name, database, [], names) ? [...names] : undefined;
}
