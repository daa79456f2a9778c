import type { QueryError } from './errors.ts';
import type { TableName } from '../pinot/table-name.ts';
import type { StoredCoding } from './rows/frames.ts';
import type { ResultNotes } from './notes.ts';
import type { RawField } from './scanner/fields.ts';
import type { RecordedIndex, RowIndex } from './rows/row-index.ts';
import type { StoredDownloads } from './stored-downloads.ts';

/** Everything about a stored result except its rows; stored as the JSON metadata file. */
export interface ResultRecord extends RecordedIndex {
  readonly version: 1;
  readonly requestId: string;
  /** The gateway that ran the query. */
  readonly brokerId: string;
  /** SRN of the principal that submitted the query. */
  readonly owner: string;
  /** The tables that the query reads. `Query` on each is checked again at every read. */
  readonly tables: readonly TableName[];
  /** Names of the conditions that limited what the query could read, by table. Absent where nothing did. */
  readonly conditions?: readonly RecordedConditions[];
  /** The logical tables of the query with what they consisted of. Absent where there are none. */
  readonly logicalTables?: readonly RecordedLogicalTable[];
  /** Epoch milliseconds. */
  readonly submissionTimeMs: number;
  readonly expirationTimeMs: number;
  readonly rowCount: number;
  /** Size of the rows without compression; see `storedRowBytes`. */
  readonly rowBytes: number;
  /** JSON text as received from the engine. */
  readonly dataSchema: string;
  readonly tableFields: readonly RawField[];
  readonly fields: readonly RawField[];
  /** The text of the query as the gateway printed it, without conditions, shortened to at most 4,096 characters. Records of earlier releases have none. */
  readonly sql?: string;
  /** Time at which the result was complete, epoch milliseconds. Records of earlier releases have none. */
  readonly storedTimeMs?: number;
  /** What the reader of the result should know; every page has it. */
  readonly warnings?: readonly string[];
}

export interface RecordedConditions {
  readonly table: TableName;
  /** A hash of the conditions, which have values of the caller. */
  readonly id: string;
}

export interface RecordedLogicalTable {
  readonly table: TableName;
  /** Absent where they could not be read. */
  readonly tables?: readonly TableName[];
}

/** A stored result in a listing. */
export interface StoredResultSummary {
  readonly record: ResultRecord;
  /** Size of the result in the store, with the files of its downloads. */
  readonly bytes: number;
  readonly dataFile: string;
  readonly metadataFile: string;
  /** Why the result cannot be read, if that is known without reading the rows. */
  readonly damaged?: string;
}

/** A result being stored; not visible before `commit`. The caller must end it with `commit` or `discard`. */
export interface ResultWriter {
  /**
   * Appends bytes of rows, or of their frames. Resolves when the store accepts more (backpressure). The bytes must not change until the next call
   * of the writer has resolved, so one buffer can be filled while another is being written.
   * @throws {QueryError} store-full, store-unavailable
   */
  write(bytes: Uint8Array): Promise<void>;
  /** Ends the rows and writes the index (see `encodeIndex`). `read` works from then on. */
  seal(index: RowIndex): Promise<void>;
  /** Reads what was written before the result is committed. */
  read(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Publishes the result atomically. */
  commit(record: ResultRecord): Promise<ResultReader>;
  /** Removes everything written. Never throws; what cannot be removed is removed at the next start. */
  discard(): Promise<void>;
}

/** An open stored result. The caller that opened it must close it. */
export interface ResultReader {
  readonly record: ResultRecord;
  /** Why its rows cannot be read, where that is known without reading them. */
  readonly damage?: QueryError | undefined;
  /** The index if it is in memory; otherwise call `index`. */
  readonly knownIndex: RowIndex | undefined;
  index(signal: AbortSignal): Promise<RowIndex>;
  /** Bytes `from` to `to` (exclusive) of the rows as they are stored, in pieces; see `readRows`. @throws {QueryError} damaged, not-found, store-unavailable */
  read(from: number, to: number, signal: AbortSignal): Promise<readonly Uint8Array[]>;
  /** Like `read`, in pieces of bounded size. */
  stream(from: number, to: number, signal: AbortSignal): AsyncIterable<Uint8Array>;
  /** Drops the rows that are in memory: the next `read` reads them from the store. Absent where none are kept. Needs no `this`. */
  readonly forget?: (() => void) | undefined;
  /** @param reuse true if no result of `read` is in use, so that its memory may be reused */
  close(reuse?: boolean): Promise<void>;
}

/** A link that reads the rows of a result from where they are stored. */
export interface SignedLink {
  /** A credential until it expires. */
  readonly url: string;
  /** Epoch milliseconds. */
  readonly expirationTimeMs: number;
}

/** Bytes of the disk or memory of a store; others may use it, too. */
export interface StoreSpace {
  readonly capacityBytes: number;
  readonly freeBytes: number;
}

/** Storage for results. Every implementation passes test/contract/result-store.ts. */
export interface ResultStore {
  /** Whether only the gateway that stored a result can read it. */
  readonly local: boolean;
  /** Texts about queries that have no result yet. */
  readonly notes: ResultNotes;
  /** Files made of results for their downloads. */
  readonly downloads: StoredDownloads;
  /** Capacity in bytes, independent of the quota; undefined if the store has no limit of its own. */
  readonly capacityBytes?: number;
  /** Never waits: undefined while it is not known. Absent for a store without a limit. */
  space?(): StoreSpace | undefined;
  /** How new results are compressed; not at all where absent. */
  readonly compression?: StoredCoding;
  /** Removes leftovers of an earlier process. */
  start(signal: AbortSignal): Promise<void>;
  /**
   * Removes leftovers of other processes and of interrupted requests. May be called at any time; limits its own frequency. Never
   * throws. Absent if there are no leftovers.
   */
  tidy?(signal: AbortSignal): Promise<void>;
  begin(requestId: string, signal: AbortSignal): Promise<ResultWriter>;
  /**
   * @returns undefined if the result does not exist; a reader with `damage` where its record is valid and its rows are missing or have another length
   * @throws {QueryError} damaged, if its record is not valid, or missing although its rows are there and nobody writes or deletes them
   */
  open(requestId: string, signal: AbortSignal): Promise<ResultReader | undefined>;
  /**
   * Replaces the record of a stored result by one that differs only in its expiration. No effect where the result was deleted, also meanwhile: a renewal
   * never makes it visible again.
   * @throws {QueryError} store-full, store-unavailable
   */
  renew(record: ResultRecord, signal: AbortSignal): Promise<void>;
  /** Lists complete and damaged results in any order: those that `open` does not find are not listed. */
  list(signal: AbortSignal): AsyncIterable<StoredResultSummary>;
  /**
   * Signs a link to the stored rows, which clients read by byte range. Absent if clients cannot reach the storage.
   * @param lifetimeMs at least a second. The link may expire earlier
   * @throws {QueryError} store-unavailable
   */
  link?(requestId: string, lifetimeMs: number, signal: AbortSignal): Promise<SignedLink>;
  /** Deletes a result with the files of its downloads. @returns false if it did not exist, complete or damaged. An open reader may continue. */
  delete(requestId: string, signal: AbortSignal): Promise<boolean>;
  close(): Promise<void>;
}
