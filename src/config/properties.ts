import { Type, type Static } from 'typebox';
import { choice, duration, flag, integer, text, texts, type PropertyGroup } from '../platform/setting-schema.ts';

const HOUR_MS = 3_600_000;

const QuerySchema = Type.Object({
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
  'olap.broker.pagination.compression': flag({
    description:
      'Compresses pages and downloads of at least 16 KB for clients that accept zstd or gzip. It saves bandwidth and costs CPU time of the gateway.',
    default: true,
    live: true,
  }),
  'olap.broker.pagination.expiration': duration({
    description: 'Age at which a stored result expires and is deleted.',
    default: HOUR_MS,
    minimum: 1000,
    live: true,
  }),
  'olap.broker.pagination.max.expiration': duration({
    description:
      'Age at which a result expires although it is read. If it exceeds `olap.broker.pagination.expiration`, reading a page or a download renews the expiration. 0: reading renews nothing.',
    default: 0,
    live: true,
  }),
  'olap.broker.pagination.links.expiration': duration({
    description:
      'Lifetime of the signed links by which clients read results from a bucket (`links=true`), at most 1 hour. A link also expires with its result. 0: no links.',
    default: 0,
    maximum: 3_600_000,
    live: true,
  }),
  'olap.broker.pagination.max.submissions': integer({
    description: 'Limit of concurrent synchronous paginated queries per gateway. Further ones get 503.',
    default: 64,
    minimum: 1,
    maximum: 10_000,
    live: true,
  }),
  'olap.broker.pagination.downloads.max.in.all': integer({
    description:
      'Downloads that a gateway sends at once, each with up to 7 MiB of `max-answer-bytes`. Further ones get 503. Converting rows takes CPU time of all requests.',
    default: 8,
    minimum: 1,
    maximum: 1000,
    live: true,
  }),
  'olap.broker.pagination.downloads.max.per.caller': integer({
    description: 'Downloads of one caller that a gateway sends at once. Further ones get 503.',
    default: 4,
    minimum: 1,
    maximum: 1000,
    live: true,
  }),
  'olap.broker.pagination.async.max.running': integer({
    description:
      'Asynchronous queries that a gateway runs at once. Further ones wait. One caller gets at most three quarters of the places.',
    default: 16,
    minimum: 1,
    maximum: 1000,
    live: true,
  }),
  'olap.broker.pagination.async.max.per.caller': integer({
    description: 'Asynchronous queries of one caller that run or wait on a gateway. Further ones get 429.',
    default: 16,
    minimum: 1,
    maximum: 10_000,
    live: true,
  }),
  'olap.broker.pagination.async.max.in.all': integer({
    description: 'Asynchronous queries of all callers that run or wait on a gateway. Further ones get 429.',
    default: 256,
    minimum: 1,
    maximum: 10_000,
    live: true,
  }),
  'olap.broker.pagination.async.max.time': duration({
    description:
      'Time after its submission at which an asynchronous query that still waits or runs is ended. It fails.',
    default: HOUR_MS,
    minimum: 1000,
    maximum: 24 * HOUR_MS,
    live: true,
  }),
  'olap.broker.query.default.limit': integer({
    description:
      'Rows that Pinot returns for a query without `LIMIT` in the single-stage engine: its `pinot.broker.default.query.limit`. A paginated result without `LIMIT` with so many rows has a warning. 0 for no warnings.',
    default: 10,
    minimum: 0,
    live: true,
  }),
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
});

const ControllerSchema = Type.Object({
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
  'controller.cluster.health.extensionChecks': flag({
    description:
      'Runs the checks beyond the specification, too (`origin: extension`). The report’s `spec.extensionChecks` overrides it.',
    default: true,
    live: true,
  }),
  'controller.cluster.health.instanceScheme': choice(['http', 'https'], {
    description:
      'Scheme of the `/health` endpoints of servers and brokers, for `INSTANCE_HEALTH_API_CHECK`: `https` when Pinot serves them over TLS. Certificates are verified with `engine-ca-file`.',
    default: 'http',
    live: true,
  }),
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

/**
 * The values of the groups below. The object also has the values of the groups that other parts of the program declare, which
 * know their types.
 */
export type Properties = Static<typeof QuerySchema> & Static<typeof ControllerSchema>;

/** Pages of query results, their expiration and their quota. */
export const QUERY_PROPERTIES: PropertyGroup = {
  properties: QuerySchema.properties,
  problems(values) {
    const properties = values as Properties;
    const problems: string[] = [];
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
    return problems;
  },
};

/** The cleaner of expired results, and the health checks. */
export const CONTROLLER_PROPERTIES: PropertyGroup = { properties: ControllerSchema.properties };
