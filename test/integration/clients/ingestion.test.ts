import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { javaArguments } from '../../../tools/pinot/jvm.ts';
import { execute } from '../../support/execute.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { startPinot, type Pinot } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { until } from '../../support/until.ts';

// Pinot's own batch ingestion (LaunchDataIngestionJob) through the gateway, with the rights of an example of docs/rbac.md.
const DOCUMENT = join(import.meta.dirname, '../../../docs/rbac.md');
const TABLE = 'events';
const STANDALONE = 'org.apache.pinot.plugin.ingestion.batch.standalone';
const CSV = 'org.apache.pinot.plugin.inputformat.csv';

let pinot: Pinot;
let gateway: Standalone;
let folder: string;
let token: { accessKey: string; bearerToken: string };
let statements: readonly object[];

async function manage<T>(path: string, body: unknown, method = 'POST'): Promise<T> {
  const answer = await gateway.call(method, `/api/v1/rbac-manager${path}`, body);
  if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

async function create(path: string, body: object): Promise<void> {
  const answer = await fetch(pinot.controllerUrl + path, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
  expect(answer.status, await answer.text()).toBe(200);
}

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-ingestion-'));
  pinot = await startPinot();
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
  await create('/schemas', {
    schemaName: TABLE,
    dimensionFieldSpecs: [{ name: 'kind', dataType: 'STRING' }],
    metricFieldSpecs: [{ name: 'amount', dataType: 'LONG' }],
  });
  await create('/tables', {
    tableName: TABLE,
    tableType: 'OFFLINE',
    segmentsConfig: { replication: '1' },
    tenants: {},
    tableIndexConfig: {},
    metadata: {},
  });
  const example = /### 3\. A job that writes to one table\n+```json\n([^`]*)```/.exec(
    await readFile(DOCUMENT, 'utf8'),
  )?.[1];
  const policyDocument = JSON.parse(example ?? '') as { statements: readonly object[] };
  ({ statements } = policyDocument);
  await manage('/policies', { name: 'job', policyDocument });
  await manage('/roles', { name: 'job', description: 'writes to one table' });
  await manage('/roles/srn2:role%23job/attach-policy', { policySrn: 'srn2:policy#job' });
  token = await manage('/service-tokens', { description: 'a job' });
  const assignment = { subject: token.accessKey, subjectType: 'service-token' };
  await manage('/roles/srn2:role%23job/create-assignment', assignment);
});
afterAll(async () => {
  await gateway.stop();
  await pinot.stop();
  await rm(folder, { recursive: true, force: true });
});

/** Writes one row, makes a segment of it and pushes it. @returns what the tool printed, and whether it ended with 0 */
async function ingest(push: 'Tar' | 'Uri' | 'Metadata'): Promise<{ readonly ok: boolean; readonly output: string }> {
  const input = join(folder, push, 'input');
  const output = join(folder, push, 'output');
  await Promise.all([mkdir(input, { recursive: true }), mkdir(output, { recursive: true })]);
  await writeFile(join(input, 'rows.csv'), `kind,amount\n${push},1\n`);
  const runner = (name: string): string => `${STANDALONE}.Segment${name}JobRunner`;
  const job = {
    executionFrameworkSpec: {
      name: 'standalone',
      segmentGenerationJobRunnerClassName: runner('Generation'),
      segmentTarPushJobRunnerClassName: runner('TarPush'),
      segmentUriPushJobRunnerClassName: runner('UriPush'),
      segmentMetadataPushJobRunnerClassName: runner('MetadataPush'),
    },
    jobType: `SegmentCreationAnd${push}Push`,
    inputDirURI: input,
    includeFileNamePattern: 'glob:**/*.csv',
    outputDirURI: output,
    overwriteOutput: true,
    pinotFSSpecs: [{ scheme: 'file', className: 'org.apache.pinot.spi.filesystem.LocalPinotFS' }],
    recordReaderSpec: {
      dataFormat: 'csv',
      className: `${CSV}.CSVRecordReader`,
      configClassName: `${CSV}.CSVRecordReaderConfig`,
    },
    segmentNameGeneratorSpec: { type: 'fixed', configs: { 'segment.name': `${TABLE}_${push}` } },
    tableSpec: {
      tableName: TABLE,
      schemaURI: `${gateway.url}/tables/${TABLE}/schema`,
      tableConfigURI: `${gateway.url}/tables/${TABLE}`,
    },
    pinotClusterSpecs: [{ controllerURI: gateway.url }],
    pushJobSpec: { pushAttempts: 1, pushParallelism: 1, segmentUriPrefix: 'file://' },
    authToken: `Bearer ${token.bearerToken}`,
  };
  const spec = join(folder, `${push}.json`);
  await writeFile(spec, JSON.stringify(job));
  const logFile = join(folder, `${push}.log`);
  const java = await javaArguments({
    mainClass: 'org.apache.pinot.tools.admin.PinotAdministrator',
    heap: '384m',
    logFile,
  });
  const ran = await execute('java', [...java, 'LaunchDataIngestionJob', '-jobSpecFile', spec], {
    timeout: WAIT_LIMIT_MS,
  }).then(
    ({ stdout, stderr }) => ({ ok: true, output: stdout + stderr }),
    (error: { stdout: string; stderr: string }) => ({ ok: false, output: error.stdout + error.stderr }),
  );
  return { ...ran, output: `${ran.output}\n${await readFile(logFile, 'utf8').catch(() => '')}` };
}

async function kinds(): Promise<unknown> {
  const answer = JSON.parse(await pinot.query(`SELECT kind FROM ${TABLE} ORDER BY kind LIMIT 10`)) as {
    resultTable?: { rows: string[][] };
  };
  return answer.resultTable?.rows.flat() ?? [];
}

it('pushes tar files with the rights of the example; URI and metadata push need those to fetch files in addition', async () => {
  const tar = await ingest('Tar');
  await until(`the segment is loaded: ${tar.output}`, async () => String(await kinds()) === 'Tar');
  // URI push of this version does not name its table.
  expect((await ingest('Uri')).output).toContain('may not `UploadSegment` on the cluster');
  expect((await ingest('Metadata')).output).toContain('may not `IngestFile` on the cluster');
  const more = { effect: 'allow', actions: ['IngestFile', 'UploadSegment'], resources: ['srn2:cluster#*'] };
  const policyDocument = { version: 'v1', statements: [...statements, more] };
  await manage('/policies/srn2:policy%23job', { policyDocument }, 'PUT');
  // The answer of Pinot, which fetches no file of this scheme by default.
  expect((await ingest('Uri')).output).toContain('Unsupported URI: file:///');
  const { output } = await ingest('Metadata');
  await until(`the segment is loaded: ${output}`, async () => String(await kinds()) === 'Metadata,Tar');
});
