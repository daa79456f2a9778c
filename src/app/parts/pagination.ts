import type { Properties } from '../../config/properties.ts';
import type { PaginationSettings } from '../../results/settings.ts';

/** The properties of pagination that can change while the process runs. */
export function paginationSettings(properties: Properties): PaginationSettings {
  return {
    pageSize: properties['olap.broker.query.page.size'],
    maxPageSize: properties['olap.broker.query.max.page.size'],
    expirationMs: properties['olap.broker.pagination.expiration'],
    maxExpirationMs: properties['olap.broker.pagination.max.expiration'],
    linkLifetimeMs: properties['olap.broker.pagination.links.expiration'],
    maxSubmissions: properties['olap.broker.pagination.max.submissions'],
    downloads: {
      maxInAll: properties['olap.broker.pagination.downloads.max.in.all'],
      maxPerCaller: properties['olap.broker.pagination.downloads.max.per.caller'],
    },
    async: {
      maxRunning: properties['olap.broker.pagination.async.max.running'],
      maxPerCaller: properties['olap.broker.pagination.async.max.per.caller'],
      maxInAll: properties['olap.broker.pagination.async.max.in.all'],
      maxTimeMs: properties['olap.broker.pagination.async.max.time'],
    },
    compression: properties['olap.broker.pagination.compression'],
    defaultLimit: properties['olap.broker.query.default.limit'],
    storageCleaner: {
      enabled: properties['olap.broker.pagination.file.enableStorageCleaner'],
      maxStorageMb: properties['olap.broker.pagination.file.maxStoragePerBrokerMB'],
      criticalPercent: properties['olap.broker.pagination.file.criticalStorageThresholdPercent'],
      targetPercent: properties['olap.broker.pagination.file.targetStorageThresholdPercent'],
    },
  };
}

/** Caches the result of `map` until `get` returns another object. */
export function mapped<From extends object, To>(get: () => From, map: (from: From) => To): () => To {
  let from: From | undefined;
  let to: To;
  return () => {
    const now = get();
    if (now !== from) {
      from = now;
      to = map(now);
    }
    return to;
  };
}
