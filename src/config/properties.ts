import { Type, type Static } from 'typebox';
import { keysOf, resolve, type Resolution, type Written } from './keys.ts';
import { bytes, choice, duration, flag, integer, text, texts } from './value.ts';

const HOUR_MS = 3_600_000;
const MB = 1024 * 1024;

/** The protocols of the result store. */
const PROTOCOLS = ['memory', 'file', 's3', 'gcs'] as const;

/** The `olap.*` and `controller.*` keys: how queries are paginated, where results lie, and when they are cleaned up. */
export const PropertiesSchema = Type.Object({
  'olap.broker.query.page.size': integer({
    description: 'Rows in a page when `numRows` is not given.',
    default: 10_000,
    minimum: 1,
    maximum: 100_000_000,
    live: true,
  }),
  'olap.broker.query.max.page.size': integer({
    description: 'A larger `numRows` is clipped to this.',
    default: 100_000,
    minimum: 1,
    maximum: 100_000_000,
    live: true,
  }),
  'olap.broker.pagination.protocol': choice(PROTOCOLS, {
    description:
      'Where results are stored. `memory` is not for production; `memory` and `file` on a local disk need every call to reach the gateway that holds the result, which `FORWARD_HOST` and `FORWARD_PORT` see to.',
    default: 'memory',
  }),
  'olap.broker.pagination.native': flag({
    description:
      'Whether the engine keeps the rows of paginated results, in cursors of its own (Pinot 1.3 and newer). The store of `olap.broker.pagination.protocol` then holds whose they are and where.',
    default: false,
  }),
  'olap.broker.pagination.temp.dir': text({
    description: 'Local directory for temporary files.',
    default: '/tmp/olap/query/broker',
    unit: 'path',
  }),
  'olap.broker.pagination.expiration': duration({
    description: 'Age after which a stored result is deleted.',
    default: HOUR_MS,
    minimum: 1000,
    live: true,
  }),
  'olap.broker.pagination.max.submissions': integer({
    description: 'Paginated queries that may run at once on one gateway; another one is answered with 503.',
    default: 64,
    minimum: 1,
    maximum: 10_000,
    live: true,
  }),
  'olap.broker.pagination.memory.max.bytes': bytes({
    description: 'Bytes of results that the memory store may hold.',
    default: 256 * MB,
  }),
  'olap.broker.pagination.file.data.dir': Type.Optional(
    text({
      description:
        'Directory of the file store: a path, a `file:` URI, or an object-store URI (`s3://bucket/prefix`, `gs://bucket/prefix`).',
      unit: 'path',
    }),
  ),
  'olap.broker.pagination.file.sendfile': flag({
    description:
      'Whether the system sends large pages from the files that hold them (Linux, without TLS), so that their bytes are not copied through this process.',
    default: true,
  }),
  'olap.broker.pagination.file.enableStorageCleaner': flag({
    description: 'Whether results are deleted, expired ones first, then large ones, when the quota is nearly used up.',
    default: false,
    live: true,
  }),
  'olap.broker.pagination.file.maxStoragePerBrokerMB': integer({
    description: 'Quota of one gateway, in MB.',
    default: 1024,
    minimum: 1,
    live: true,
  }),
  'olap.broker.pagination.file.criticalStorageThresholdPercent': integer({
    description: 'Cleaning up starts when usage exceeds this percentage of the quota.',
    default: 90,
    minimum: 1,
    maximum: 100,
    live: true,
  }),
  'olap.broker.pagination.file.targetStorageThresholdPercent': integer({
    description: 'Cleaning up reduces usage to this percentage of the quota.',
    default: 60,
    minimum: 0,
    maximum: 100,
    live: true,
  }),
  'olap.broker.pagination.s3.bucket': Type.Optional(text({ description: 'Bucket of the s3 store.' })),
  'olap.broker.pagination.s3.prefix': text({ description: 'Put before every object name in the bucket.', default: '' }),
  'olap.broker.pagination.s3.endpoint': Type.Optional(
    text({ description: 'Base URL of the S3 API, where it is not Amazon’s.', unit: 'url' }),
  ),
  'olap.broker.pagination.s3.region': Type.Optional(text({ description: 'Region of the bucket.' })),
  'olap.broker.pagination.s3.path.style': flag({
    description: '`endpoint/bucket/key` instead of `bucket.endpoint/key`.',
    default: false,
  }),
  'olap.broker.pagination.s3.access.key': Type.Optional(
    text({
      description: 'Access key; the usual chain of the SDK (role, environment, file) where it is not set.',
      unit: 'secret',
    }),
  ),
  'olap.broker.pagination.s3.secret.key': Type.Optional(
    text({ description: 'Secret of the access key.', unit: 'secret' }),
  ),
  'olap.broker.pagination.gcs.bucket': Type.Optional(text({ description: 'Bucket of the gcs store.' })),
  'olap.broker.pagination.gcs.prefix': text({
    description: 'Put before every object name in the bucket.',
    default: '',
  }),
  'olap.broker.pagination.gcs.endpoint': Type.Optional(
    text({ description: 'Base URL of the storage API, where it is not Google’s.', unit: 'url' }),
  ),
  'olap.broker.storage.factory.s3.region': Type.Optional(
    text({ description: 'Region when `file.data.dir` is an `s3:` URI.' }),
  ),
  'olap.broker.storage.factory.class.s3': Type.Optional(
    text({ description: 'Accepted for the sake of existing configurations; the `s3` and `gs` schemes are built in.' }),
  ),
  'controller.cluster.pagination.cleaner.frequencyPeriod': duration({
    description: 'Period of the task that deletes expired results on every gateway.',
    default: HOUR_MS,
    minimum: 1000,
    live: true,
  }),
  'controller.cluster.pagination.cleaner.initialDelay': Type.Optional(
    duration({
      description: 'Delay before the cleaner’s first run.',
      computedDefault: 'random, within the period',
      unsetWord: 'random',
    }),
  ),
  'controller.replication.threshold': Type.Optional(
    integer({
      description:
        'Replication below which `REPLICATION_CHECK` fails. The report’s `spec.thresholds` rank above it, the engine’s own cluster configuration below it.',
      computedDefault: '3',
      minimum: 1,
      maximum: 1000,
      live: true,
    }),
  ),
  'controller.cluster.health.thresholds': texts({
    description:
      'Thresholds of health checks, each `CHECK.threshold=value`, such as `SEGMENT_COUNT_CHECK.maxSegments=100000`. The report’s `spec.thresholds` rank above them.',
    default: [],
    pattern: '^[A-Z0-9_]+\\.[A-Za-z]+=-?[0-9]+(\\.[0-9]+)?$',
    expected: '`CHECK.threshold=value`',
    live: true,
  }),
  'controller.cluster.health.prebuiltSnapshotProperty': Type.Optional(
    text({
      description:
        'The property of the engine’s cluster configuration that is `true` where prebuilt snapshots are made for preloading, as `PREBUILT_SNAPSHOT_CHECK` asks. The report’s `spec.prebuiltSnapshotProperty` ranks above it.',
      computedDefault: '`pinot.upsert.prebuilt.snapshot.enabled`',
      live: true,
    }),
  ),
  'controller.admin.auth.provider.class': Type.Optional(
    text({
      description:
        'Accepted for the sake of existing configurations: the credential is always read from `controller.admin.auth.url`.',
    }),
  ),
  'controller.admin.auth.url': Type.Optional(
    text({
      description:
        'Where the cleaner’s credential for the gateways stands: a `file:` URL or a path. It is read again when it changes.',
      unit: 'path',
    }),
  ),
});
export type Properties = Static<typeof PropertiesSchema>;

export const PROPERTY_KEYS = keysOf(PropertiesSchema);

/** Whether a key belongs to the properties, known or misspelt, rather than to the settings of the process. */
export const isPropertyKey = (key: string): boolean => key.startsWith('olap.') || key.startsWith('controller.');

/** Checks single values and what must hold between them. `values` is a whole `Properties` where there are no problems. */
export function resolveProperties(written: readonly Written[]): Resolution {
  const { values, problems } = resolve(PROPERTY_KEYS, written);
  if (problems.length > 0) return { values, problems };
  const properties = values as Properties;
  const pageSize = properties['olap.broker.query.page.size'];
  const maxPageSize = properties['olap.broker.query.max.page.size'];
  if (pageSize > maxPageSize) {
    problems.push(
      `\`olap.broker.query.page.size\` (${pageSize}) is larger than \`olap.broker.query.max.page.size\` (${maxPageSize})`,
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
  return [`\`${key}\` is missing: \`olap.broker.pagination.protocol\` is \`${protocol}\``];
}
