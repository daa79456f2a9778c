/** A form in which rows of a result can be downloaded. */
export type ExportFormat = 'jsonl' | 'csv' | 'arrow' | 'parquet';

interface FormatDescription {
  readonly contentType: string;
  /** Media types in `Accept` that select the format. */
  readonly mediaTypes: readonly string[];
  readonly extension: string;
  /** The form is compressed, so that `Content-Encoding` would not make it smaller. */
  readonly isCompressed?: true;
}

export const EXPORT_FORMATS: Readonly<Record<ExportFormat, FormatDescription>> = {
  jsonl: {
    contentType: 'application/x-ndjson',
    mediaTypes: ['application/x-ndjson', 'application/jsonl', 'application/x-jsonlines'],
    extension: 'jsonl',
  },
  csv: { contentType: 'text/csv; charset=utf-8; header=present', mediaTypes: ['text/csv'], extension: 'csv' },
  arrow: {
    contentType: 'application/vnd.apache.arrow.stream',
    mediaTypes: ['application/vnd.apache.arrow.stream'],
    extension: 'arrows',
  },
  parquet: {
    contentType: 'application/vnd.apache.parquet',
    mediaTypes: ['application/vnd.apache.parquet'],
    extension: 'parquet',
    isCompressed: true,
  },
};

const PAGE_TYPES: ReadonlySet<string> = new Set(['application/json', 'application/*', '*/*']);

/** The format that an `Accept` header prefers; undefined for a page in JSON, which is the default. */
export function acceptedFormat(accept: string | undefined): ExportFormat | undefined {
  let best: { readonly format: ExportFormat | undefined; readonly quality: number } | undefined;
  for (const part of (accept ?? '').split(',')) {
    const [type = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase());
    const format = formatOfType(type);
    if (format === undefined && !PAGE_TYPES.has(type)) continue;
    const quality = Number(parameters.find((parameter) => parameter.startsWith('q='))?.slice(2) ?? 1);
    if (quality > (best?.quality ?? 0)) best = { format, quality };
  }
  return best?.format;
}

function formatOfType(type: string): ExportFormat | undefined {
  const formats = Object.entries(EXPORT_FORMATS) as [ExportFormat, FormatDescription][];
  return formats.find(([, { mediaTypes }]) => mediaTypes.includes(type))?.[0];
}
