import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { sharedPinot, type PinotClient } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

// Calls of real clients to the controller, through the gateway: each one arrives in a form that the controller accepts.
const TABLE = 'paths_test';
const FETCHING = 'paths_fetching';
const ROWS = ['{"id": 9223372036854775807}', '{"id": 2}'];
const schema = (name: string) => ({
  schemaName: name,
  dimensionFieldSpecs: [{ name: 'id', dataType: 'LONG', defaultNullValue: 9007199254740992 }],
});
const config = (name: string) => ({
  tableName: `${name}_OFFLINE`,
  tableType: 'OFFLINE',
  segmentsConfig: { replication: '1', schemaName: name },
  tenants: {},
  tableIndexConfig: { loadMode: 'MMAP' },
  metadata: {},
});

let pinot: PinotClient;
let gateway: Standalone;

beforeAll(async () => {
  pinot = await sharedPinot();
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
});

afterAll(async () => {
  await gateway.stop();
});

async function send(method: string, path: string, init: RequestInit = {}): Promise<[number, string]> {
  const headers = { authorization: `Bearer ${gateway.token}`, ...(init.headers as Record<string, string>) };
  const answer = await fetch(gateway.url + path, {
    ...init,
    method,
    headers,
    signal: AbortSignal.timeout(WAIT_LIMIT_MS),
  });
  return [answer.status, await answer.text()];
}

async function ok(method: string, path: string, init: RequestInit = {}): Promise<string> {
  const [status, text] = await send(method, path, init);
  expect([path, status, status === 200 ? '' : text]).toEqual([path, 200, '']);
  return text;
}

const json = (value: unknown, type = 'application/json'): RequestInit => ({
  headers: { 'content-type': type },
  body: typeof value === 'string' ? value : JSON.stringify(value),
});

function form(text: string, name: string): RequestInit {
  const body = new FormData();
  body.set('file', new Blob([text]), name);
  return { body };
}

describe('the real controller behind the gateway', () => {
  it('accepts a schema, a table, rows, a changed configuration and their deletion', async () => {
    // A LONG above 2^53 must arrive with all of its digits.
    const digits = JSON.stringify(schema(TABLE)).replace('9007199254740992', '9007199254740993');
    await ok('POST', '/schemas', json(digits));
    expect(await ok('GET', `/schemas/${TABLE}`)).toContain('9007199254740993');
    await ok('PUT', `/schemas/${TABLE}`, form(digits, 'schema.json'));
    await ok('POST', '/tables/validate', json(config(TABLE)));
    await ok('POST', '/tables', json(config(TABLE), 'application/x-www-form-urlencoded'));
    const batch = encodeURIComponent(JSON.stringify({ inputFormat: 'json' }));
    const ingest = `/ingestFromFile?tableNameWithType=${TABLE}_OFFLINE&batchConfigMapStr=${batch}`;
    await ok('POST', ingest, form(ROWS.join('\n'), 'rows.json'));
    await pinot.awaitRows(TABLE, ROWS.length);
    expect(await pinot.query(`SELECT max(id) FROM ${TABLE} WHERE id > 5`)).toContain('resultTable');

    const [{ OFFLINE: segments }] = JSON.parse(await ok('GET', `/segments/${TABLE}?type=OFFLINE`)) as [
      { OFFLINE: string[] },
    ];
    const [segment = ''] = segments;
    expect(segment).not.toBe('');
    await ok('GET', `/segments/${TABLE}_OFFLINE/${encodeURIComponent(segment)}/metadata?columns=id&columns=id`);
    const found = await fetch(`${gateway.url}/segments/${TABLE}/${segment}`, {
      headers: { authorization: `Bearer ${gateway.token}` },
    });
    const packed = Buffer.from(await found.arrayBuffer());
    expect([found.status, packed.subarray(0, 2).toString('hex')]).toEqual([
      200,
      gzipSync('').subarray(0, 2).toString('hex'),
    ]);

    // The same segment again, as push jobs upload it.
    const upload = new FormData();
    upload.set('file', new Blob([packed]), segment);
    await ok('POST', `/v2/segments?tableName=${TABLE}&tableType=OFFLINE`, {
      body: upload,
      headers: { upload_type: 'SEGMENT' },
    });
    await ok('PUT', `/tables/${TABLE}`, json({ ...config(TABLE), query: { timeoutMs: 5000 } }));
    expect(await ok('GET', `/tables/${TABLE}?type=OFFLINE`)).toContain('"timeoutMs":5000');
    await ok('POST', `/segments/${TABLE}/delete`, json(segments));
    await ok('DELETE', `/tables/${TABLE}?type=OFFLINE`);
    await ok('DELETE', `/schemas/${TABLE}`);
  });

  it('accepts calls for the cluster', async () => {
    await ok('POST', '/cluster/configs', json({ 'paths.test': 'a b' }));
    expect(await ok('GET', '/cluster/configs')).toContain('"paths.test":"a b"');
    await ok('DELETE', '/cluster/configs/paths.test');
    expect(await ok('GET', '/zk/ls?path=%2F')).toContain('zookeeper');
    const instances = JSON.parse(await ok('GET', '/instances')) as { instances: string[] };
    await ok('GET', `/instances/${instances.instances[0] ?? ''}`);
    await ok('GET', '/tables?type=offline&sortAsc=true');
    expect(JSON.parse(await ok('GET', '/tables/orders/size?detailed=false'))).toMatchObject({ tableName: 'orders' });
    await ok('GET', '/swagger.json');
    await ok('GET', '/help');
  });
});

describe('a segment by address', () => {
  it('can contain any table in Pinot itself, and requires IngestFile at the gateway', async () => {
    await pinot.createTable(schema(FETCHING), config(FETCHING));
    try {
      const [{ OFFLINE: segments }] = JSON.parse(await ok('GET', '/segments/customers?type=OFFLINE')) as [
        { OFFLINE: string[] },
      ];
      const source = `${pinot.controllerUrl}/segments/customers/${segments[0] ?? ''}`;
      const upload = json({});
      const headers = { ...(upload.headers as object), UPLOAD_TYPE: 'URI', DOWNLOAD_URI: source };
      const path = `/segments?tableName=${FETCHING}`;

      const credential = await tokenFor(['UploadSegment', 'Query'], `srn2:table#${FETCHING}`);
      const refused = await send('POST', path, { ...upload, headers: { ...headers, authorization: credential } });
      expect([refused[0], refused[1]]).toEqual([403, expect.stringContaining('`IngestFile` on the cluster')]);
      await ok('POST', path, { ...upload, headers });
      expect(await ok('GET', `/segments/${FETCHING}`)).toContain(segments[0]);
    } finally {
      await pinot.deleteTable(FETCHING);
    }
  });
});

async function tokenFor(actions: readonly string[], resource: string): Promise<string> {
  const post = async <T>(path: string, body: unknown): Promise<T> => {
    const answer = await gateway.call('POST', `/api/v1/rbac-manager${path}`, body);
    expect([path, answer.status]).toEqual([path, 200]);
    return (await answer.json()) as T;
  };
  const policyDocument = { version: 'v1', statements: [{ effect: 'allow', actions, resources: [resource] }] };
  await post('/policies', { name: 'one-table', policyDocument });
  await post('/roles', { name: 'one-table', description: 'loads one table' });
  await post('/roles/srn2:role%23one-table/attach-policy', { policySrn: 'srn2:policy#one-table' });
  const token = await post<{ accessKey: string; bearerToken: string }>('/service-tokens', { description: 'a loader' });
  const assignment = { subject: token.accessKey, subjectType: 'service-token' };
  await post('/roles/srn2:role%23one-table/create-assignment', assignment);
  return `Bearer ${token.bearerToken}`;
}

describe('a request that the controller would interpret differently', () => {
  it('does not reach it', async () => {
    const body = '{"schemaName":"paths_other","schemaName":"paths_none"}';
    expect((await send('POST', '/schemas', json(body)))[0]).toBe(400);
    expect((await send('GET', '/segments/orders/..%252Fcustomers%252Fx'))[0]).toBe(400);
    expect((await send('GET', '/tables/orders_OFFLINE_OFFLINE/schema'))[0]).toBe(400);
    expect(await ok('GET', '/schemas')).not.toMatch(/paths_(?:other|none)/);
  });
});
