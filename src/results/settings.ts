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
  /** Milliseconds after which a result that is read expires in any case; 0 where reading it does not renew it: `olap.broker.pagination.max.expiration`. */
  readonly maxExpirationMs: number;
  /** Lifetime of links to results in a bucket in milliseconds; 0 where there are none: `olap.broker.pagination.links.expiration`. */
  readonly linkLifetimeMs: number;
  /** Maximum concurrent submissions on this gateway; further ones get 503: `olap.broker.pagination.max.submissions`. */
  readonly maxSubmissions: number;
  /** Downloads at once on this gateway; further ones get 503: `olap.broker.pagination.downloads.*`. */
  readonly downloads: DownloadLimits;
  /** Asynchronous queries: `olap.broker.pagination.async.*`. */
  readonly async: AsyncSettings;
  /** `pinot.broker.default.query.limit` of the engine: `olap.broker.query.default.limit`. */
  readonly defaultLimit: number;
  /** Whether responses are compressed for clients that accept it: `olap.broker.pagination.compression`. */
  readonly compression: boolean;
  readonly storageCleaner: StorageCleanerSettings;
}

export interface DownloadLimits {
  readonly maxInAll: number;
  /** A caller that reads slowly, or never ends its downloads, must not occupy all of them. */
  readonly maxPerCaller: number;
}

/** Limits of asynchronous queries on this gateway. */
export interface AsyncSettings {
  /** Queries that run at once; further ones wait. */
  readonly maxRunning: number;
  /** Queries of one caller that run or wait; further ones get 429. */
  readonly maxPerCaller: number;
  /** Queries of all callers that run or wait; further ones get 429. */
  readonly maxInAll: number;
  /** Milliseconds after which a query that still waits or runs fails. */
  readonly maxTimeMs: number;
}

const HOUR_MS = 3_600_000;

export const DEFAULT_PAGINATION_SETTINGS: PaginationSettings = {
  pageSize: 10_000,
  maxPageSize: 100_000,
  expirationMs: HOUR_MS,
  maxExpirationMs: 0,
  linkLifetimeMs: 0,
  maxSubmissions: 64,
  downloads: { maxInAll: 8, maxPerCaller: 4 },
  async: { maxRunning: 16, maxPerCaller: 16, maxInAll: 256, maxTimeMs: HOUR_MS },
  defaultLimit: 10,
  compression: true,
  storageCleaner: { enabled: false, maxStorageMb: 1024, criticalPercent: 90, targetPercent: 60 },
};
