import { call } from './api.ts';
import type { TableSchema } from './types.ts';

const FIELDS = ['dimensionFieldSpecs', 'metricFieldSpecs', 'dateTimeFieldSpecs', 'complexFieldSpecs'] as const;

export interface TableColumn {
  readonly name: string;
  /** Such as `LONG`; `LONG[]` for several values. */
  readonly type: string;
}

/** The columns of a table. @throws {ApiError} 403 where the caller may not read its schema */
export async function columnsOf(table: string, signal: AbortSignal): Promise<TableColumn[]> {
  const schema = await call<TableSchema>(`/tables/${encodeURIComponent(table)}/schema`, { signal });
  return FIELDS.flatMap((group) =>
    (schema[group] ?? []).map(({ name, dataType = '', singleValueField = true }) => ({
      name,
      type: singleValueField ? dataType : `${dataType}[]`,
    })),
  );
}
