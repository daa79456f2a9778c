import { qualityOf as qualityIn } from '../../platform/quality.ts';

/** A form in which rows of a result can be downloaded. */
export type ExportFormat = 'jsonl' | 'csv' | ColumnFormat;

export type ColumnFormat = 'arrow' | 'parquet';

export function isColumnFormat(format: ExportFormat): format is ColumnFormat {
  return format === 'arrow' || format === 'parquet';
}

interface FormatDescription {
  readonly contentType: string;
  /** Media types in `Accept` that select the format. */
  readonly mediaTypes: readonly string[];
  readonly extension: string;
  /** Part of the ETag: it changes with the rules by which rows are written, so that no download continues in bytes of other rules. */
  readonly tag: string;
  /** The form is compressed, so that `Content-Encoding` would not make it smaller. */
  readonly isCompressed?: true;
}

export const EXPORT_FORMATS: Readonly<Record<ExportFormat, FormatDescription>> = {
  jsonl: {
    contentType: 'application/x-ndjson',
    mediaTypes: ['application/x-ndjson', 'application/jsonl', 'application/x-jsonlines'],
    extension: 'jsonl',
    tag: 'jsonl',
  },
  csv: {
    contentType: 'text/csv; charset=utf-8; header=present',
    mediaTypes: ['text/csv'],
    extension: 'csv',
    tag: 'csv2',
  },
  arrow: {
    contentType: 'application/vnd.apache.arrow.stream',
    mediaTypes: ['application/vnd.apache.arrow.stream'],
    extension: 'arrows',
    tag: 'arrows3',
  },
  parquet: {
    contentType: 'application/vnd.apache.parquet',
    mediaTypes: ['application/vnd.apache.parquet'],
    extension: 'parquet',
    tag: 'parquet3',
    isCompressed: true,
  },
};

/** A media range of an `Accept` header. */
interface MediaRange {
  readonly type: string;
  readonly quality: number;
}

/** A form of the response; undefined for a page in JSON. */
type Form = ExportFormat | undefined;

const PAGE_TYPE = 'application/json';

/**
 * The form that an `Accept` header prefers (RFC 9110 section 12.5.1); undefined for a page in JSON, which is the default. Of forms with the same quality it is
 * the one that the header names first, or else the first one that a wildcard contains.
 */
export function acceptedFormat(accept: string | undefined): Form {
  if (accept === undefined || accept === '*/*') return undefined;
  const ranges = accept.split(',').map(mediaRange);
  // Each form once, however often the header names it: the work is linear.
  const forms = new Set([...ranges.flatMap(({ type }) => formsOfType(type)), undefined, ...FORMATS]);
  let best: { readonly form: Form; readonly quality: number } | undefined;
  for (const form of forms) {
    const quality = qualityOf(form, ranges);
    if (quality > (best?.quality ?? 0)) best = { form, quality };
  }
  return best?.form;
}

const FORMATS = Object.keys(EXPORT_FORMATS) as readonly ExportFormat[];

function mediaRange(text: string): MediaRange {
  const [type = '', ...parameters] = text.split(';').map((part) => part.trim().toLowerCase());
  return { type, quality: qualityIn(parameters) };
}

function typesOf(form: Form): readonly string[] {
  return form === undefined ? [PAGE_TYPE] : EXPORT_FORMATS[form].mediaTypes;
}

function formsOfType(type: string): readonly Form[] {
  return [undefined, ...FORMATS].filter((form) => typesOf(form).includes(type));
}

/** The quality of the most specific range that contains the form. */
function qualityOf(form: Form, ranges: readonly MediaRange[]): number {
  const types = typesOf(form);
  const wildcards = new Set(types.map((type) => `${type.slice(0, type.indexOf('/'))}/*`));
  const range =
    ranges.find(({ type }) => types.includes(type)) ??
    ranges.find(({ type }) => wildcards.has(type)) ??
    ranges.find(({ type }) => type === '*/*');
  return range?.quality ?? 0;
}
