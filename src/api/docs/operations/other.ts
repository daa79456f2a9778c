import { METADATA_FIELDS } from '../../../results/rows/metadata.ts';
import type { DocsByOperation, Link } from './operation-docs.ts';

const REQUEST_ID = '0a1b2c3d-00112233445566778899aabbccddee';
const METADATA = Object.fromEntries(METADATA_FIELDS.map(([name, empty]) => [name, JSON.parse(empty) as unknown]));

const PAGE = {
  resultTable: {
    dataSchema: { columnNames: ['city', 'orders'], columnDataTypes: ['STRING', 'LONG'] },
    rows: [['Oslo', 42]],
  },
  requestId: REQUEST_ID,
  brokerId: 'olap-warden-gateway-0',
  numRowsResultSet: 2,
  offset: 0,
  numRows: 1,
  nextOffsetParams: 'offset=1&numRows=1',
  nextUrl: `/query/${REQUEST_ID}/results?offset=1&numRows=1`,
  exceptions: [],
};

const CURSOR = {
  numRowsResultSet: 2,
  exceptions: [],
  requestId: REQUEST_ID,
  brokerId: 'olap-warden-gateway-0',
  offset: 0,
  numRows: 2,
  submissionTimeMs: 1_769_846_400_000,
  expirationTimeMs: 1_769_850_000_000,
  bytesWritten: 24,
  tablesQueried: ['orders'],
};

const MUTE = {
  id: 'mute-0a1b2c3d',
  check: 'REPLICATION_CHECK',
  entity: 'staging_*',
  reason: 'one replica until the new servers arrive',
  author: 'srn2:user#ada@example.com',
  until: '2026-03-01T00:00:00Z',
  active: true,
  findingCount: 2,
};

const ofResult = (operationId: string, description: string): Link => ({
  operationId,
  description,
  parameters: {
    requestId: '$response.body#/requestId',
    ...(operationId === 'getQueryResults' ? { offset: '$response.body#/offset' } : {}),
  },
});
const RESULT_LINKS = {
  getQueryResults: ofResult('getQueryResults', 'Reads a page of the result.'),
  getQueryMetadata: ofResult('getQueryMetadata', 'Reads the metadata of the result.'),
  deleteStoredResult: ofResult('deleteStoredResult', 'Deletes the result.'),
};
const STATUS = {
  requestId: REQUEST_ID,
  brokerId: 'olap-warden-gateway-0',
  owner: 'srn2:user#ada@example.com',
  state: 'done',
  sql: 'SELECT "city", COUNT (*) AS "orders" FROM "orders" GROUP BY "city" LIMIT 10',
  tables: ['orders'],
  submissionTimeMs: 1_769_846_400_000,
  endTimeMs: 1_769_846_403_000,
  elapsedMs: 3000,
  numRowsResultSet: 2,
  bytes: 24,
  expirationTimeMs: 1_769_850_003_000,
  nextOffsetParams: 'offset=0&numRows=10000',
  nextUrl: `/query/${REQUEST_ID}/results?offset=0&numRows=10000`,
};
const RUNNING = {
  requestId: REQUEST_ID,
  brokerId: STATUS.brokerId,
  owner: STATUS.owner,
  state: 'running',
  sql: STATUS.sql,
  tables: STATUS.tables,
  submissionTimeMs: STATUS.submissionTimeMs,
  startTimeMs: STATUS.submissionTimeMs,
  elapsedMs: 0,
  numRowsResultSet: 0,
  bytes: 0,
};
const SUBMIT = {
  accepted: { ok: 'With `async=true`: the query is accepted, and its state.', response: RUNNING },
  ok: 'With pagination the first page of the stored result; otherwise the response of the engine, unchanged.',
  response: PAGE,
  links: RESULT_LINKS,
};

/** Cluster health, paginated queries, the gateway itself and the dashboard. */
export const OTHER_DOCS: DocsByOperation = {
  getClusterHealth: {
    ok: 'The report of the latest run.',
    response: {
      runTimestamp: 1_769_846_400_000,
      durationMs: 4200,
      status: 'PASS',
      summary: { pass: 40, fail: 0, failMuted: 0, failBySeverity: { critical: 0, warning: 0, advice: 0 } },
      checks: [],
      healthCheckResult: { TABLE: { events_OFFLINE: { REPLICATION_CHECK: { pass: true } } } },
      running: null,
      lastComplete: null,
    },
  },
  getClusterHealthHistory: {
    ok: 'Up to 100 changes.',
    response: [
      {
        check: 'INSTANCE_HEALTH_API_CHECK',
        from: 'PASS',
        to: 'FAIL',
        time: '2026-01-31T08:00:00.000Z',
        run: 'run-0a1b2c3d',
        findingCount: 1,
      },
    ],
  },
  listHealthMutes: { ok: 'All mutes, including expired ones.', response: [MUTE] },
  createHealthMute: {
    ok: 'The mute. The operator applies it to the report within seconds.',
    request: {
      check: 'REPLICATION_CHECK',
      entity: 'staging_*',
      reason: 'one replica until the new servers arrive',
      until: '2026-03-01T00:00:00Z',
    },
    response: { ...MUTE, findingCount: 0 },
  },
  deleteHealthMute: { ok: 'The deleted mute.', response: { ...MUTE, findingCount: 0 } },
  setClusterHealthState: {
    ok: 'The state of the periodic task.',
    response: { state: 'ENABLE', message: 'the cluster health task is enabled' },
  },
  listHealthChecks: {
    ok: 'All checks.',
    response: [
      {
        name: 'REPLICATION_CHECK',
        title: 'Replication',
        description: 'A segment has fewer online replicas than its table requires.',
        origin: 'specification',
        category: 'segments',
        severity: 'warning',
        defaultThresholds: {},
      },
    ],
  },
  getPeriodicTaskNames: { ok: 'Names of the periodic tasks.', response: ['ClusterHealthCheckTask'] },
  runPeriodicTask: {
    ok: 'The run that was started or joined.',
    response: { taskId: 'api-0a1b2c3d', isSuccessful: true, message: 'the task was started' },
  },
  submitQuery: { ...SUBMIT, request: { sql: 'SELECT city, count(*) AS orders FROM orders GROUP BY city LIMIT 10' } },
  submitQueryByGet: SUBMIT,
  getQueryResults: { ok: 'One page of the result.', response: PAGE },
  getQueryMetadata: { ok: 'The metadata of the result.', response: [{ ...METADATA, requestId: REQUEST_ID }] },
  getCursorResults: { ok: 'One page of the result.', response: PAGE },
  getCursor: { ok: 'The metadata of the result.', response: CURSOR },
  listCursors: { ok: 'The metadata of all results.', response: [CURSOR] },
  deleteCursor: { ok: 'The result is deleted.', response: `Query Results for ${REQUEST_ID} deleted.` },
  getQueryStatus: { ok: 'The state of the query.', response: STATUS, links: RESULT_LINKS },
  cancelQuery: {
    ok: 'The state of the query afterwards.',
    response: { ...RUNNING, state: 'cancelled', error: { status: 499, message: 'the query was cancelled' } },
    accepted: {
      ok: 'Another gateway runs the query and was asked to cancel it.',
      response: { ...RUNNING, cancelRequested: true },
    },
  },
  listMyQueries: { ok: 'The queries of the caller.', response: { queries: [STATUS] } },
  listStoredResults: {
    ok: 'The stored results that the caller may read.',
    response: {
      resultMetadataList: [
        {
          requestId: REQUEST_ID,
          brokerId: 'olap-warden-gateway-0',
          submissionTimeMs: 1_769_846_400_000,
          expirationTimeMs: 1_769_850_000_000,
          responseMetadata: [{ type: 'JSON', numRows: 2, dataFile: 's3://results/a', metadataFile: 's3://results/b' }],
          owner: 'srn2:user#ada@example.com',
          bytes: 2048,
        },
      ],
    },
  },
  getResultStoreUsage: {
    ok: 'The usage of the result store.',
    response: {
      usedBytes: 2048,
      capacityBytes: null,
      cleanerEnabled: true,
      quotaBytes: 10_737_418_240,
      criticalPercent: 90,
      targetPercent: 70,
    },
  },
  deleteStoredResult: { ok: 'The result is deleted.', response: `Query Results for ${REQUEST_ID} deleted.` },
  getGatewayIdentity: { ok: 'The id of this gateway.', response: { brokerId: 'olap-warden-gateway-0' } },
  getGateway: {
    ok: 'The state of this gateway.',
    response: {
      version: '0.2.0',
      brokerId: 'olap-warden-gateway-0',
      startedAt: '2026-01-31T08:00:00.000Z',
      store: { kind: 'kubernetes', synced: true, ageMs: 120, lastError: null },
      engine: { url: 'http://pinot-controller:9000', reachable: true, message: null },
      instances: [{ brokerId: 'olap-warden-gateway-0', host: '10.0.0.7', port: 8080, self: true }],
      pagination: { protocol: 's3' },
    },
  },
  getOpenApi: { ok: 'The OpenAPI document.', response: { openapi: '3.1.0' } },
  openSession: { ok: 'The session is open. The body is empty.' },
  endSession: { ok: 'The session has ended. The body is empty.' },
  getSession: {
    ok: 'The installation, and what the caller may do.',
    response: {
      environment: 'production',
      cluster: 'pinot-eu1',
      colour: 'red',
      contact: 'the data platform team, #data-help',
      clusterActions: ['GetHealth', 'GetResponseStore'],
    },
  },
  signInMethods: {
    ok: 'How to sign in to the dashboard.',
    response: {
      oidc: {
        authorizationEndpoint: 'https://idp.example.com/authorize',
        clientId: 'olap-warden',
        scope: 'openid email profile',
      },
    },
  },
  openOidcSession: {
    ok: 'The session is open. The body is empty.',
    request: {
      code: 'SplxlOBeZQQYbYS6WxSbIA',
      codeVerifier: 'dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk',
      nonce: 'n-0S6_WzA2Mj-0123456',
      redirectUri: 'https://olap-warden.example.com/ui/signed-in',
    },
  },
};
