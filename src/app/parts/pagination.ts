import type { Properties } from '../../config/properties.ts';
import type { ObjectStoreSettings, PaginationSettings, ResultStoreSettings } from '../../results/settings.ts';

/** The properties of pagination that can change while the process runs. */
export function paginationSettings(properties: Properties): PaginationSettings {
  return {
    pageSize: properties['olap.broker.query.page.size'],
    maxPageSize: properties['olap.broker.query.max.page.size'],
    expirationMs: properties['olap.broker.pagination.expiration'],
    maxSubmissions: properties['olap.broker.pagination.max.submissions'],
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

/** The settings of the result store, as they are at start. */
export function resultStoreSettings(properties: Properties): ResultStoreSettings {
  const s3Region =
    properties['olap.broker.pagination.s3.region'] ?? properties['olap.broker.storage.factory.s3.region'];
  const s3: ObjectStoreSettings = {
    bucket: properties['olap.broker.pagination.s3.bucket'] ?? '',
    prefix: asPrefix(properties['olap.broker.pagination.s3.prefix']),
    endpoint: properties['olap.broker.pagination.s3.endpoint'],
    region: s3Region,
    pathStyle: properties['olap.broker.pagination.s3.path.style'],
    accessKeyId: properties['olap.broker.pagination.s3.access.key'],
    secretAccessKey: properties['olap.broker.pagination.s3.secret.key'],
  };
  const gcs: ObjectStoreSettings = {
    bucket: properties['olap.broker.pagination.gcs.bucket'] ?? '',
    prefix: asPrefix(properties['olap.broker.pagination.gcs.prefix']),
    endpoint: properties['olap.broker.pagination.gcs.endpoint'],
    region: undefined,
    pathStyle: false,
    accessKeyId: undefined,
    secretAccessKey: undefined,
  };
  return {
    protocol: properties['olap.broker.pagination.protocol'],
    native: properties['olap.broker.pagination.native'],
    tempDir: properties['olap.broker.pagination.temp.dir'],
    fileDataDir: properties['olap.broker.pagination.file.data.dir'],
    memoryMaxBytes: properties['olap.broker.pagination.memory.max.bytes'],
    s3,
    gcs,
  };
}

function asPrefix(text: string): string {
  const path = text.replaceAll(/^\/+|\/+$/g, '');
  return path === '' ? '' : `${path}/`;
}
