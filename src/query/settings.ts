/** The kinds of result store, as `olap.broker.pagination.protocol` spells them. */
export const RESULT_STORE_PROTOCOLS = ['memory', 'file', 's3', 'gcs'] as const;
export type ResultStoreProtocol = (typeof RESULT_STORE_PROTOCOLS)[number];

/** Where a bucket is and how it is spoken to. Credentials come from the SDK's usual chain unless both keys are set. */
export interface ObjectStoreSettings {
  readonly bucket: string;
  /** Put before every object name; empty, or without a leading and with a trailing slash. */
  readonly prefix: string;
  /** Base URL of the store's API; the SDK's own where undefined. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** S3 only: `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
}

/** `olap.broker.pagination.file.*`: the quota that the storage cleaner holds. */
export interface StorageCleanerSettings {
  readonly enabled: boolean;
  readonly maxStorageMb: number;
  readonly criticalPercent: number;
  readonly targetPercent: number;
}

/** What changes while the gateway runs: read anew at every use through `() => PaginationSettings`. */
export interface PaginationSettings {
  /** Rows in a page when `numRows` is not given: `olap.broker.query.page.size`. */
  readonly pageSize: number;
  /** A larger `numRows` is clipped to this: `olap.broker.query.max.page.size`. */
  readonly maxPageSize: number;
  /** Age in milliseconds after which a stored result is gone: `olap.broker.pagination.expiration`. */
  readonly expirationMs: number;
  /** Paginated queries that may run at once on this gateway; another one is 503: `olap.broker.pagination.max.submissions`. */
  readonly maxSubmissions: number;
  readonly storageCleaner: StorageCleanerSettings;
}

/** What is read once, at the start. */
export interface ResultStoreSettings {
  readonly protocol: ResultStoreProtocol;
  /** Whether the engine keeps the rows of new results, and the store only what else is known of them: `olap.broker.pagination.native`. */
  readonly native: boolean;
  /** Local folder for temporary files: `olap.broker.pagination.temp.dir`. */
  readonly tempDir: string;
  /** `olap.broker.pagination.file.data.dir`: a path, a `file:` URI, or an object-store URI (`s3://…`, `gs://…`). */
  readonly fileDataDir: string | undefined;
  /** Bytes that the memory store may hold: `olap.broker.pagination.memory.max.bytes`. */
  readonly memoryMaxBytes: number;
  readonly s3: ObjectStoreSettings;
  readonly gcs: ObjectStoreSettings;
}

const MB = 1024 * 1024;
const HOUR_MS = 3_600_000;

export const DEFAULT_PAGINATION_SETTINGS: PaginationSettings = {
  pageSize: 10_000,
  maxPageSize: 100_000,
  expirationMs: HOUR_MS,
  maxSubmissions: 64,
  storageCleaner: { enabled: false, maxStorageMb: 1024, criticalPercent: 90, targetPercent: 60 },
};

const NO_OBJECT_STORE: ObjectStoreSettings = {
  bucket: '',
  prefix: '',
  endpoint: undefined,
  region: undefined,
  pathStyle: false,
  accessKeyId: undefined,
  secretAccessKey: undefined,
};

export const DEFAULT_RESULT_STORE_SETTINGS: ResultStoreSettings = {
  protocol: 'memory',
  native: false,
  tempDir: '/tmp/olap/query/broker',
  fileDataDir: undefined,
  memoryMaxBytes: 256 * MB,
  s3: NO_OBJECT_STORE,
  gcs: NO_OBJECT_STORE,
};
