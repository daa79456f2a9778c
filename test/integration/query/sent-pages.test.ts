import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { FakeEngine } from '../../support/fake-engine.ts';
import { StandaloneGateway } from '../../support/standalone-gateway.ts';
import { answerText } from '../../unit/query/answers.ts';

const ROWS = Array.from({ length: 20_000 }, (_, i) => `[${i},"${'x'.repeat(200)}"]`);
const PAGE = 5_000;

/** What calls the system for it. */
const NATIVE = /koffi\.node/;

describe.skipIf(process.platform !== 'linux')('a gateway process with results in files', () => {
  let folder: string;
  let engine: FakeEngine;
  const gateways: StandaloneGateway[] = [];

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-sent-'));
    engine = new FakeEngine();
    await engine.listen();
    engine.serve(['orders_OFFLINE'], answerText(ROWS));
  });

  afterAll(async () => {
    for (const gateway of gateways) await gateway.kill();
    await engine.close();
    await rm(folder, { recursive: true });
  });

  it.each([
    ['by the system, unless told otherwise', [], true],
    [
      'by itself, and calls nothing but Node where it is told to',
      ['olap.broker.pagination.file.sendfile=false'],
      false,
    ],
  ])('sends large pages %s', async (name, properties, native) => {
    const id = `gateway-${gateways.length}`;
    const gateway = new StandaloneGateway(
      join(folder, id),
      { controllers: engine.url, brokers: engine.url, 'broker-id': id },
      [
        'olap.broker.pagination.protocol=file',
        `olap.broker.pagination.file.data.dir=${join(folder, `${id}-results`)}`,
        `olap.broker.pagination.temp.dir=${join(folder, `${id}-temp`)}`,
        ...properties,
      ],
    );
    gateways.push(gateway);
    const submitted = await gateway.call('/query/sql?doPaginate=true&numRows=1', { sql: 'SELECT * FROM orders' });
    const { requestId } = (await submitted.json()) as { requestId: string };
    for (let round = 0; round < 3; round++) {
      for (let offset = 0; offset < ROWS.length; offset += PAGE) {
        const page = await gateway.call(`/query/${requestId}/results?offset=${offset}&numRows=${PAGE}`);
        const rows = `"rows":[${ROWS.slice(offset, offset + PAGE).join(',')}]}`;
        expect((await page.text()).includes(rows), name).toBe(true);
      }
    }
    const maps = await readFile(`/proc/${gateway.program.pid}/maps`, 'utf8');
    expect(NATIVE.test(maps)).toBe(native);
    expect(gateway.program.output).not.toContain('"level":"error"');
  });
});
