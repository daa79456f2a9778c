/** Kinds of result store; values of `olap.broker.pagination.protocol`. */
export const RESULT_STORE_PROTOCOLS = ['memory', 'file', 's3', 'gcs'] as const;
export type ResultStoreProtocol = (typeof RESULT_STORE_PROTOCOLS)[number];

/** Bucket location and access. Credentials come from the SDK's default chain unless both keys are set. */
export interface ObjectStoreSettings {
  readonly bucket: string;
  /** Prefix of every object name; empty, or without leading and with trailing slash. */
  readonly prefix: string;
  /** Base URL of the store's API; default: the SDK's. */
  readonly endpoint: string | undefined;
  readonly region: string | undefined;
  /** S3 only: `endpoint/bucket/key` instead of `bucket.endpoint/key`. */
  readonly pathStyle: boolean;
  readonly accessKeyId: string | undefined;
  readonly secretAccessKey: string | undefined;
}

/** `olap.broker.pagination.file.*`: quota enforced by the storage cleaner. */
export interface StorageCleanerSettings {
  readonly enabled: boolean;
  readonly maxStorageMb: number;
  readonly criticalPercent: number;
  readonly targetPercent: number;
}

/** Settings that may change at run time: read at every use through `() => PaginationSettings`. */
export interface PaginationSettings {
  /** Rows in a page when `numRows` is not given: `olap.broker.query.page.size`. */
  readonly pageSize: number;
  /** A larger `numRows` is reduced to this: `olap.broker.query.max.page.size`. */
  readonly maxPageSize: number;
  /** Lifetime of a stored result in milliseconds: `olap.broker.pagination.expiration`. */
  readonly expirationMs: number;
  /** Maximum concurrent submissions on this gateway; further ones get 503: `olap.broker.pagination.max.submissions`. */
  readonly maxSubmissions: number;
  readonly storageCleaner: StorageCleanerSettings;
}

/** Settings that are read once at start. */
export interface ResultStoreSettings {
  readonly protocol: ResultStoreProtocol;
  /** Whether the engine keeps the rows of new results and the store only their records: `olap.broker.pagination.native`. */
  readonly native: boolean;
  /** Local folder for temporary files: `olap.broker.pagination.temp.dir`. */
  readonly tempDir: string;
  /** `olap.broker.pagination.file.data.dir`: a path, a `file:` URI, or an object-store URI (`s3://…`, `gs://…`). */
  readonly fileDataDir: string | undefined;
  /** Maximum size of the memory store in bytes: `olap.broker.pagination.memory.max.bytes`. */
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
