import { DEFAULT_DATABASE, type TableName } from '../../pinot/table-name.ts';
import { meaningsOf, writtenName } from './names.ts';

/**
 * Tables that a name in a path, a parameter, a body or a response may refer to.
 * @param database of a name without a prefix
 * @returns undefined if it is not a table name
 */
export function tableNames(name: string, database: string = DEFAULT_DATABASE): readonly TableName[] | undefined {
  const written = writtenName(name);
  return written && meaningsOf(written.database ?? database, written.table);
}
