/**
 * What is kept beside the rows of a result for its downloads: at most one file of each name. The names are few, so that a deletion finds the files of
 * every release.
 */
export type DownloadName = 'arrow' | 'arrow-text' | 'parquet' | 'parquet-text';

export const DOWNLOAD_NAMES: readonly DownloadName[] = ['arrow', 'arrow-text', 'parquet', 'parquet-text'];

/** A file being written; not visible before `commit`. The caller must end it with `commit` or `discard`. */
export interface DownloadWriter {
  /** The bytes must not change until the next call of the writer has resolved. @throws {QueryError} store-full, store-unavailable */
  write(bytes: Uint8Array): Promise<void>;
  /** Publishes the file atomically, in place of an earlier one. Removes it where the result was deleted meanwhile. */
  commit(): Promise<void>;
  /** Removes everything written. Never throws; what cannot be removed is removed as a leftover. */
  discard(): Promise<void>;
}

/** An open file. The caller that opened it must close it. */
export interface DownloadReader {
  readonly bytes: number;
  /** Bytes `from` to `to` (exclusive), in pieces of bounded size. @throws {QueryError} damaged, not-found, store-unavailable */
  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
  close(): Promise<void>;
}

/** Files that were made of stored results. They belong to their results: `ResultStore.delete` removes them, and `ResultStore.list` counts their bytes. */
export interface StoredDownloads {
  /** @throws {QueryError} store-full, store-unavailable */
  begin(requestId: string, name: DownloadName, signal: AbortSignal): Promise<DownloadWriter>;
  /** @returns undefined where there is none. @throws {QueryError} store-unavailable */
  open(requestId: string, name: DownloadName, signal: AbortSignal): Promise<DownloadReader | undefined>;
  /** No effect if there is none. @throws {QueryError} store-unavailable */
  delete(requestId: string, name: DownloadName, signal: AbortSignal): Promise<void>;
}

/** Name of a file in a store with names. */
export function downloadName(requestId: string, name: DownloadName): string {
  return `${requestId}.${name}`;
}

/** The id and name of a file; undefined for other names. */
export function downloadOf(key: string): { readonly requestId: string; readonly name: DownloadName } | undefined {
  const at = key.indexOf('.');
  const name = DOWNLOAD_NAMES.find((known) => known === key.slice(at + 1));
  return at < 0 || name === undefined ? undefined : { requestId: key.slice(0, at), name };
}
