import { type Columns, columnBatches } from './batches.ts';
import {
  BooleanColumn,
  BytesColumn,
  type Column,
  Float32Column,
  Float64Column,
  Int32Column,
  Int64Column,
  ListColumn,
  TextColumn,
} from './column.ts';
import { DecimalColumn, DecimalProbe, SkippedColumn } from './decimals.ts';
import { MapColumn } from './maps.ts';
import { TimestampColumn } from './timestamps.ts';
import { engineNames, uniqueNames } from './unique-names.ts';

/** `text`: of the types of the engine that not all readers know (TIMESTAMP, BIG_DECIMAL, MAP), the values are texts as the engine writes them. */
export type ColumnTypes = 'exact' | 'text';

/** Key of the metadata of Arrow and Parquet with the names of columns, as a JSON array, whose decimals are texts because no decimal type has all of them. */
export const TEXT_DECIMALS_KEY = 'olap-warden.decimalsAsText';

/** The columns of a download in a format of columns. */
export interface DownloadColumns {
  /** Have the values of one batch of rows after the other. */
  readonly columns: readonly Column[];
  readonly names: readonly string[];
  /** Of the schema. */
  readonly metadata: readonly (readonly [key: string, value: string])[];
}

const ARRAY = '_ARRAY';
const DECIMAL = 'BIG_DECIMAL';

/**
 * Columns for values of types of the engine. A type without an exact equivalent is text, as the engine writes it.
 * @param scales of the columns of decimals, by position, from `decimalScales`; those without are text
 */
export function createColumns(
  { columnNames, columnDataTypes }: Columns,
  types: ColumnTypes,
  scales: ReadonlyMap<number, number> = new Map(),
): DownloadColumns {
  const columns = columnDataTypes.map((type, i) => {
    const scale = scales.get(i);
    return scale === undefined ? createColumn(type, types) : new DecimalColumn(scale);
  });
  const names = uniqueNames(columnNames);
  const isTextDecimal = (i: number): boolean =>
    types === 'exact' && columnDataTypes[i] === DECIMAL && columns[i] instanceof TextColumn;
  const texts = names.filter((_, i) => isTextDecimal(i));
  const metadata = [...engineNames(columnNames)];
  if (texts.length > 0) metadata.push([TEXT_DECIMALS_KEY, JSON.stringify(texts)]);
  return { columns, names, metadata };
}

/** Whether the types of the columns are known only after all values were looked at. */
export function hasDecimals({ columnDataTypes }: Columns): boolean {
  return columnDataTypes.includes(DECIMAL);
}

/**
 * The scales at which decimals of DECIMAL_PRECISION digits have every digit of every value, by the position of the column. Columns without such a scale
 * are absent.
 * @param rows pieces of complete rows, each a JSON array with the comma after it
 * @throws {QueryError} bad-response for rows of another length
 */
export async function decimalScales(
  { columnDataTypes }: Columns,
  rows: AsyncIterable<Uint8Array>,
): Promise<ReadonlyMap<number, number>> {
  const columns = columnDataTypes.map((type) => (type === DECIMAL ? new DecimalProbe() : new SkippedColumn()));
  for await (const _ of columnBatches(columns, rows));
  return new Map(
    columns.flatMap((column, i) => {
      const scale = column instanceof DecimalProbe ? column.scale : undefined;
      return scale === undefined ? [] : [[i, scale] as const];
    }),
  );
}

/** A column for values of a type of the engine, with decimals as texts. */
export function createColumn(type: string, types: ColumnTypes): Column {
  const createItems = types === 'text' ? plainColumn : exactColumn;
  return type.endsWith(ARRAY) ? new ListColumn(createItems(type.slice(0, -ARRAY.length))) : createItems(type);
}

/** A column for single values. The engine has no lists of lists: those would be texts. */
function exactColumn(type: string): Column {
  if (type === 'TIMESTAMP') return new TimestampColumn();
  return type === 'MAP' ? new MapColumn() : plainColumn(type);
}

function plainColumn(type: string): Column {
  switch (type) {
    case 'INT':
      return new Int32Column();
    case 'LONG':
      return new Int64Column();
    case 'FLOAT':
      return new Float32Column();
    case 'DOUBLE':
      return new Float64Column();
    case 'BOOLEAN':
      return new BooleanColumn();
    case 'BYTES':
      return new BytesColumn();
    default:
      return new TextColumn();
  }
}
