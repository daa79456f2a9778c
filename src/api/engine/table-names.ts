import { isSameDatabase, meaningsOf, writtenName, type WrittenName } from '../../access/sql/names.ts';
import { DEFAULT_DATABASE, qualified, type TableName } from '../../pinot/table-name.ts';
import { HttpError } from '../server/errors.ts';

const SEPARATORS = /[\s/\\;,%\p{Cc}\p{Cf}\ufffd]/u;
const TYPE_SUFFIX = /_(?:OFFLINE|REALTIME)$/i;
const MAX_NAME_LENGTH = 512;

/**
 * The tables that a name in a path, a parameter or a body can refer to.
 * @param database value of the `Database` header
 * @throws {HttpError} 400 for invalid names, for a prefix that contradicts the header, and for names with two type suffixes, of which the engine
 *   removes one or both
 */
export function judgedTableNames(name: string, database: string | undefined): readonly TableName[] {
  const written = judgedName(name, database);
  return meaningsOf(written.database, written.table);
}

/** The name with its database, as the engine understands it with and without the `Database` header; the type suffix stays. */
export function canonicalName(name: string, database: string | undefined): string {
  const written = judgedName(name, database);
  return qualified(written.database, written.table);
}

function judgedName(name: string, header: string | undefined): Required<WrittenName> & { readonly database: string } {
  const shown = name.slice(0, MAX_NAME_LENGTH);
  const written = SEPARATORS.test(name) || name.length > MAX_NAME_LENGTH ? undefined : writtenName(name);
  if (written === undefined) throw new HttpError(400, `invalid table name \`${shown}\``);
  if (TYPE_SUFFIX.test(name.replace(TYPE_SUFFIX, ''))) {
    throw new HttpError(400, `invalid table name \`${name}\`: it ends with two type suffixes`);
  }
  const { database = header ?? DEFAULT_DATABASE, table } = written;
  if (header === undefined || isSameDatabase(database, header)) return { database, table };
  throw new HttpError(
    400,
    `\`${shown}\` is in the database \`${database}\`, but the header \`Database\` names \`${header}\``,
  );
}
