import { Type, type Static } from 'typebox';
import { keysOf, resolve, type Resolution, type Written } from './keys.ts';
import { bytes, choice, duration, flag, integer, text, texts } from './value.ts';

const HOUR_MS = 3_600_000;
const MB = 1024 * 1024;

/** The protocols of the result store. */
const PROTOCOLS = ['memory', 'file', 's3', 'gcs'] as const;

/** The `olap.*` and `controller.*` keys: pagination of queries, the result store, its cleanup, and the health checks. */
export const PropertiesSchema = Type.Object({
  'olap.broker.query.page.size': integer({
    description: 'Default page size in rows, for requests without `numRows`.',
    default: 10_000,
    minimum: 1,
    maximum: 100_000_000,
    live: true,
  }),
  'olap.broker.query.max.page.size': integer({
    description: 'Maximum page size in rows. A larger `numRows` is reduced to it.',
    default: 100_000,
    minimum: 1,
    maximum: 100_000_000,
    live: true,
  }),
  'olap.broker.pagination.protocol': choice(PROTOCOLS, {
    description:
      'Result store. `memory` is not for production. With `memory`, and with `file` on a local disk, each request must reach the gateway that stores the result; clients set `FORWARD_HOST` and `FORWARD_PORT` for that.',
    default: 'memory',
  }),
  'olap.broker.pagination.native': flag({
    description:
      'Stores the rows of paginated results in Pinot’s own cursors (Pinot 1.3 and newer). The store of `olap.broker.pagination.protocol` then contains only the owner and the location of each result.',
    default: false,
  }),
  'olap.broker.pagination.temp.dir': text({
    description: 'Local directory for temporary files.',
    default: '/tmp/olap/query/broker',
    unit: 'path',
  }),
  'olap.broker.pagination.expiration': duration({
    description: 'Age at which a stored result expires and is deleted.',
    default: HOUR_MS,
    minimum: 1000,
    live: true,
  }),
  'olap.broker.pagination.max.submissions': integer({
    description: 'Limit of concurrent paginated queries per gateway. Further ones get 503.',
    default: 64,
    minimum: 1,
    maximum: 10_000,
    live: true,
  }),
  'olap.broker.pagination.memory.max.bytes': bytes({
    description: 'Capacity of the memory store in bytes.',
    default: 256 * MB,
  }),
  'olap.broker.pagination.file.data.dir': Type.Optional(
    text({
      description:
        'Directory of the file store: a path, a `file:` URI, or an object-store URI (`s3://bucket/prefix`, `gs://bucket/prefix`).',
      unit: 'path',
    }),
  ),
  'olap.broker.pagination.file.enableStorageCleaner': flag({
    description:
      'Deletes results when usage exceeds the critical threshold of the quota: expired ones first, then the largest.',
    default: false,
    live: true,
  }),
  'olap.broker.pagination.file.maxStoragePerBrokerMB': integer({
    description: 'Storage quota per gateway in MB.',
    default: 1024,
    minimum: 1,
    live: true,
  }),
  'olap.broker.pagination.file.criticalStorageThresholdPercent': integer({
    description: 'Percentage of the quota above which the storage cleaner starts.',
    default: 90,
    minimum: 1,
    maximum: 100,
    live: true,
  }),
  'olap.broker.pagination.file.targetStorageThresholdPercent': integer({
    description: 'Percentage of the quota to which the storage cleaner reduces usage.',
    default: 60,
    minimum: 0,
    maximum: 100,
    live: true,
  }),
  'olap.broker.pagination.s3.bucket': Type.Optional(text({ description: 'Bucket of the s3 store.' })),
  'olap.broker.pagination.s3.prefix': text({ description: 'Prefix of all object names in the bucket.', default: '' }),
  'olap.broker.pagination.s3.endpoint': Type.Optional(
    text({ description: 'Base URL of the S3 API; Amazon S3 where not set.', unit: 'url' }),
  ),
  'olap.broker.pagination.s3.region': Type.Optional(text({ description: 'Region of the bucket.' })),
  'olap.broker.pagination.s3.path.style': flag({
    description: 'Path-style addresses: `endpoint/bucket/key` instead of `bucket.endpoint/key`.',
    default: false,
  }),
  'olap.broker.pagination.s3.access.key': Type.Optional(
    text({
      description: 'Access key. Where not set, the SDK’s default chain applies (role, environment, file).',
      unit: 'secret',
    }),
  ),
  'olap.broker.pagination.s3.secret.key': Type.Optional(text({ description: 'Secret access key.', unit: 'secret' })),
  'olap.broker.pagination.gcs.bucket': Type.Optional(text({ description: 'Bucket of the gcs store.' })),
  'olap.broker.pagination.gcs.prefix': text({
    description: 'Prefix of all object names in the bucket.',
    default: '',
  }),
  'olap.broker.pagination.gcs.endpoint': Type.Optional(
    text({ description: 'Base URL of the storage API; Google Cloud Storage where not set.', unit: 'url' }),
  ),
  'olap.broker.storage.factory.s3.region': Type.Optional(
    text({ description: 'Region where `olap.broker.pagination.file.data.dir` is an `s3:` URI.' }),
  ),
  'olap.broker.storage.factory.class.s3': Type.Optional(
    text({ description: 'Accepted for compatibility and ignored; the schemes `s3` and `gs` are built in.' }),
  ),
  'controller.cluster.pagination.cleaner.frequencyPeriod': duration({
    description: 'Interval of the task that deletes expired results on all gateways.',
    default: HOUR_MS,
    minimum: 1000,
    live: true,
  }),
  'controller.cluster.pagination.cleaner.initialDelay': Type.Optional(
    duration({
      description: 'Delay before the first run of that task.',
      computedDefault: 'random, up to the interval',
      unsetWord: 'random',
    }),
  ),
  'controller.replication.threshold': Type.Optional(
    integer({
      description:
        'Minimum replication for `REPLICATION_CHECK`. The report’s `spec.thresholds` override it; it overrides Pinot’s cluster configuration.',
      computedDefault: '3',
      minimum: 1,
      maximum: 1000,
      live: true,
    }),
  ),
  'controller.cluster.health.thresholds': texts({
    description:
      'Thresholds of health checks, each `CHECK.threshold=value`, such as `SEGMENT_COUNT_CHECK.maxSegments=100000`. The report’s `spec.thresholds` override them.',
    default: [],
    pattern: '^[A-Z0-9_]+\\.[A-Za-z]+=-?[0-9]+(\\.[0-9]+)?$',
    expected: '`CHECK.threshold=value`',
    live: true,
  }),
  'controller.cluster.health.prebuiltSnapshotProperty': Type.Optional(
    text({
      description:
        'Property of Pinot’s cluster configuration that `PREBUILT_SNAPSHOT_CHECK` reads: `true` when prebuilt snapshots are created for preloading. The report’s `spec.prebuiltSnapshotProperty` overrides it.',
      computedDefault: '`pinot.upsert.prebuilt.snapshot.enabled`',
      live: true,
    }),
  ),
  'controller.admin.auth.provider.class': Type.Optional(
    text({
      description:
        'Accepted for compatibility and ignored; the credential is always read from `controller.admin.auth.url`.',
    }),
  ),
  'controller.admin.auth.url': Type.Optional(
    text({
      description:
        'File with the cleaner’s credential for the gateways, as a `file:` URL or a path. Changes are read without a restart.',
      unit: 'path',
    }),
  ),
});
export type Properties = Static<typeof PropertiesSchema>;

export const PROPERTY_KEYS = keysOf(PropertiesSchema);

/** Whether a key, known or misspelt, is a property rather than a setting of the process. */
export const isPropertyKey = (key: string): boolean => key.startsWith('olap.') || key.startsWith('controller.');

/** Parses and validates the properties. `values` is a complete `Properties` when there are no problems. */
export function resolveProperties(written: readonly Written[]): Resolution {
  const { values, problems } = resolve(PROPERTY_KEYS, written);
  if (problems.length > 0) return { values, problems };
  const properties = values as Properties;
  const pageSize = properties['olap.broker.query.page.size'];
  const maxPageSize = properties['olap.broker.query.max.page.size'];
  if (pageSize > maxPageSize) {
    problems.push(
      `\`olap.broker.query.page.size\` (${pageSize}) must not exceed \`olap.broker.query.max.page.size\` (${maxPageSize})`,
    );
  }
  const critical = properties['olap.broker.pagination.file.criticalStorageThresholdPercent'];
  const target = properties['olap.broker.pagination.file.targetStorageThresholdPercent'];
  if (target >= critical) {
    problems.push(
      `\`olap.broker.pagination.file.targetStorageThresholdPercent\` (${target}) must be below \`olap.broker.pagination.file.criticalStorageThresholdPercent\` (${critical})`,
    );
  }
  return { values, problems: [...problems, ...missingOfProtocol(properties)] };
}

function missingOfProtocol(properties: Properties): string[] {
  const protocol = properties['olap.broker.pagination.protocol'];
  const needed = {
    memory: undefined,
    file: 'olap.broker.pagination.file.data.dir',
    s3: 'olap.broker.pagination.s3.bucket',
    gcs: 'olap.broker.pagination.gcs.bucket',
  } as const;
  const key = needed[protocol];
  if (key === undefined || properties[key] !== undefined) return [];
  return [`missing \`${key}\`: it is required with \`olap.broker.pagination.protocol\` \`${protocol}\``];
}
