import type { RawField } from './scanner/fields.ts';
import type { RowIndex } from './row-index.ts';
import type { ResultStoreProtocol } from './settings.ts';

/** A result whose rows the engine keeps, in a cursor of its own. */
export interface EngineCursor {
  /** Base URL of the broker that ran the query. */
  readonly url: string;
  /** The engine's id of the query: unique among its brokers, but given anew after a restart of the broker by some versions. */
  readonly requestId: string;
  /** Epoch milliseconds by the engine's clock; with the id it is that of one result alone. */
  readonly submissionTimeMs: number;
  /** Bytes that the engine says it wrote. */
  readonly bytes: number;
}

/** All that is known of a stored result but its rows: what the metadata file of a result holds, as JSON. */
export interface ResultRecord {
  readonly version: 1;
  readonly requestId: string;
  /** The gateway that ran the query. */
  readonly brokerId: string;
  /** SRN of the principal that submitted the query. */
  readonly owner: string;
  /** Raw names of the tables that the query reads: `Query` on each is checked again at every read. */
  readonly tables: readonly string[];
  /** Epoch milliseconds. */
  readonly submissionTimeMs: number;
  readonly expirationTimeMs: number;
  readonly rowCount: number;
  readonly rowBytes: number;
  readonly stride: number;
  readonly checkpoints: number;
  /** JSON as the engine spelled it. */
  readonly dataSchema: string;
  readonly tableFields: readonly RawField[];
  readonly fields: readonly RawField[];
  /** Where the rows are, if not in the store: then `rowBytes` and `checkpoints` are 0, and `fields` are asked of the engine. */
  readonly cursor?: EngineCursor;
}

/** A stored result in a listing. */
export interface StoredResultSummary {
  readonly record: ResultRecord;
  /** Bytes that the result takes up in the store. */
  readonly bytes: number;
  readonly dataFile: string;
  readonly metadataFile: string;
}

/** A result on its way into the store. Nobody can see it before `commit`; whoever began it ends it by `commit` or `discard`. */
export interface ResultWriter {
  /**
   * Appends bytes of rows. The promise is the back-pressure: it resolves when the store can take more. The bytes may not change before the next call
   * of the writer has resolved: one buffer can be filled while another is being written.
   * @throws {QueryError} store-full, store-unavailable
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Every row was written; `index` as `encodeIndex` made it. From here on `read` works. */
  seal(index: RowIndex): Promise<void>;
  /** Bytes of rows, before the result is committed. */
  read(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Makes the result visible, whole or not at all. */
  commit(record: ResultRecord): Promise<ResultReader>;
  /** Leaves nothing behind. Never throws; what could not be removed is removed at the next start. */
  discard(): Promise<void>;
}

/** Has the system send bytes `from` to `to` of a file. @returns bytes that it took */
export type SendFrom = (descriptor: number, from: number, to: number) => number;

/** The rows of a result where they lie in a file of this machine, for whoever can send them from there. For as long as its reader is open. */
export interface RowFile {
  /** Bytes `from` to `to` (exclusive) of the rows, while everybody else waits. @throws {QueryError} store-unavailable */
  readNow(from: number, to: number): Uint8Array;
  /** @returns what `by` gives; 0 where nobody should wait for the file now */
  send(from: number, to: number, by: SendFrom): number;
  /** Fills the beginning of the buffer. @throws {QueryError} store-unavailable */
  readInto(buffer: Buffer, from: number, to: number): Promise<Buffer>;
}

/** Rows that were not read. */
export interface FileRows {
  readonly file: RowFile;
  readonly from: number;
  readonly to: number;
}

/** A stored result that is being read. Closed by whoever opened it. */
export interface ResultReader {
  readonly record: ResultRecord;
  /** What `index` would give, where nothing must be read for it. */
  readonly knownIndex: RowIndex | undefined;
  index(signal: AbortSignal): Promise<RowIndex>;
  /** Bytes `from` to `to` (exclusive) of the rows, in pieces. @throws {QueryError} not-found, store-unavailable */
  read(from: number, to: number, signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /** The same, where its bytes are at hand; undefined where they must be waited for. @throws {QueryError} store-unavailable */
  readNow?(from: number, to: number): Uint8Array | undefined;
  /** The file of the rows, where it can be sent from; undefined where its bytes must be waited for. */
  readonly rowFile?: RowFile | undefined;
  /** The same, a bounded piece at a time. */
  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** @param reuse true where nobody holds what `read` gave any more, so that its memory may be used again */
  close(reuse?: boolean): Promise<void>;
}

/** Where results lie. Every implementation passes test/contract/result-store.ts. */
export interface ResultStore {
  readonly protocol: ResultStoreProtocol;
  /** True where only the gateway that stored a result can read it. */
  readonly local: boolean;
  /** Bytes that the store can hold at the most, quota or not; absent where the store itself knows no bound. */
  readonly capacityBytes?: number;
  /** Removes what an earlier process left half-done. */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Removes what other processes, and requests that broke off, have left since; called often and at any time, it does something now and then. Never
   * throws. Absent where nothing can be left.
   */
  tidy?(signal: AbortSignal): Promise<void>;
  begin(requestId: string, signal: AbortSignal): Promise<ResultWriter>;
  /** @returns undefined where there is no such result */
  open(requestId: string, signal: AbortSignal): Promise<ResultReader | undefined>;
  /** The same without waiting, for a result that is open already; undefined where `open` must be asked. */
  openNow?(requestId: string): ResultReader | undefined;
  /** Complete results only, in no order. */
  list(signal: AbortSignal): AsyncIterable<StoredResultSummary>;
  /** @returns false where there was no such result. A reader that is open may go on. */
  delete(requestId: string, signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}
