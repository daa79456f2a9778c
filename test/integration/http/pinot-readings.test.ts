import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { type PinotClient, sharedPinot } from '../../support/pinot.ts';
import {
  AnswerStalled,
  ConnectionEnded,
  MalformedAnswer,
  type RawAnswer,
  RawClient,
  type RawRequest,
} from '../../support/raw-client.ts';
import { type Reading, readings, OPEN, SECRET } from './readings.ts';

// The engine must not read another table than the gateway has authorized. The same requests are sent to the broker of a real Pinot, which shows what
// they mean to the engine. The caller of the gateway may query only one table.

/** In the rows of the other table, and in no text of the caller. */
const MARK = 'HIDDENROW';
/** Each table is identified by its number of rows, which is in every response of the engine. */
const OPEN_ROWS = 7;
const SECRET_ROWS = 11;
const SEED = Number(process.env['FUZZ_SEED'] ?? 20_261_122);

let pinot: PinotClient;
let gateway: GatewayProcess;
let token: string;

beforeAll(async () => {
  pinot = await sharedPinot();
  await makeTable(OPEN, OPEN_ROWS, 'open');
  await makeTable(SECRET, SECRET_ROWS, MARK);
  gateway = await GatewayProcess.start({ controllers: pinot.controllerUrl });
  const statement = { effect: 'allow', actions: ['Query'], resources: [`srn2:table#${OPEN}`] };
  ({ bearerToken: token } = await gateway.tokenFor('open-notes', [statement]));
});
afterAll(async () => {
  await gateway?.stop();
  await pinot?.deleteTable(OPEN);
  await pinot?.deleteTable(SECRET);
});

async function makeTable(name: string, rows: number, text: string): Promise<void> {
  const schema = { schemaName: name, dimensionFieldSpecs: [{ name: 'note', dataType: 'STRING' }] };
  const ingestion = { segmentIngestionType: 'REFRESH', segmentIngestionFrequency: 'DAILY' };
  await pinot.createTable(schema, {
    ...{ tableName: name, tableType: 'OFFLINE', tenants: {}, tableIndexConfig: {}, metadata: {} },
    segmentsConfig: { schemaName: name, replication: '1', segmentPushType: 'REFRESH' },
    ingestionConfig: { batchIngestionConfig: ingestion },
  });
  await pinot.uploadRows(
    name,
    Array.from({ length: rows }, (_, i) => JSON.stringify({ note: `${text} ${i}` })),
  );
  await pinot.awaitRows(name, rows);
}

type Got = RawAnswer | string;

/** @returns the reason as a text if there is no response */
async function ask(port: number, request: RawRequest): Promise<Got> {
  const client = await RawClient.open(port);
  try {
    return await client.request(request);
  } catch (error) {
    if (error instanceof ConnectionEnded || error instanceof MalformedAnswer || error instanceof AnswerStalled)
      return error.message;
    throw error;
  } finally {
    client.destroy();
  }
}

function textOf({ headers, body }: RawAnswer): string {
  return (headers.get('content-encoding') === 'gzip' ? gunzipSync(body) : body).toString();
}

/** Rows of the tables that the engine read; undefined where it did not run the query. */
function rowsRead(answer: RawAnswer): number | undefined {
  if (answer.status !== 200) return undefined;
  const total = /"(?:totalDocs|numRowsResultSet)":(\d+)/.exec(textOf(answer))?.[1];
  const failed = !/"exceptions":\[\]/.test(textOf(answer));
  return failed || total === undefined ? undefined : Number(total);
}

/** @returns what is wrong with the gateway's response */
function wrongs({ name, plain }: Reading, passed: Got, direct: Got): string[] {
  if (typeof passed === 'string') return [`${name}: the gateway gave no answer: ${passed}`];
  const text = textOf(passed);
  const wrong: string[] = [];
  if (text.includes(MARK)) wrong.push('rows of the other table');
  if (passed.status >= 500) wrong.push(`${passed.status} ${text.slice(0, 200)}`);
  const read = rowsRead(passed);
  if (read !== undefined && read > OPEN_ROWS) wrong.push(`the engine read ${read} rows`);
  if (plain && typeof direct !== 'string') {
    const rows = (answer: string) => /"rows":\[.*?\]\]/.exec(answer)?.[0];
    if (passed.status !== 200) wrong.push(`refused: ${passed.status} ${text.slice(0, 300)}`);
    else if (rows(text) !== rows(textOf(direct))) wrong.push('other rows than the engine’s');
  }
  return wrong.map((what) => `${name}: ${what}`);
}

describe('requests with several interpretations', () => {
  it('reach the engine in the authorized interpretation, or not at all', async () => {
    const wrong: string[] = [];
    const [broker, controller] = [pinot.brokerUrl, pinot.controllerUrl].map((url) => Number(new URL(url).port)) as [
      number,
      number,
    ];
    let secretDirectly = 0;
    let passedOn = 0;
    for (const reading of readings(SEED, 400)) {
      const { request } = reading;
      // `/sql` is the controller's.
      const direct = await ask(request.target.startsWith('/sql') ? controller : broker, request);
      const passed = await ask(gateway.port, {
        ...request,
        headers: [gateway.authorization(token), ...(request.headers ?? [])],
      });
      if (typeof direct !== 'string' && textOf(direct).includes(MARK)) secretDirectly += 1;
      if (typeof passed !== 'string' && rowsRead(passed) !== undefined) passedOn += 1;
      wrong.push(...wrongs(reading, passed, direct));
    }
    expect(wrong).toEqual([]);
    // The engine reads another table for many of them, and many are ordinary.
    expect(secretDirectly).toBeGreaterThan(50);
    expect(passedOn).toBeGreaterThan(20);
  });
});
