import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { parse } from 'yaml';
import { sharedPinot } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';

// The corpus of texts through a gateway to a real Pinot, by a caller who may read every table: a rejection is caused by the text only.
interface Group {
  readonly texts: readonly string[];
  readonly refused?: boolean;
}

const CORPUS = join(import.meta.dirname, '../../unit/access/sql/corpus.yaml');
const groups = parse(readFileSync(CORPUS, 'utf8')) as Group[];
const textsOf = (refused: boolean) =>
  groups.filter((group) => (group.refused ?? false) === refused).flatMap((group) => group.texts);

let broker: Server;
/** Statuses of the real broker's responses, in order. */
const reached: number[] = [];
let gateway: Standalone;

beforeAll(async () => {
  const pinot = await sharedPinot();
  // A proxy in front of the real broker that records its requests.
  broker = createServer((incoming, response) => {
    const { method, url, headers } = incoming;
    const sent = httpRequest(pinot.brokerUrl + (url ?? ''), { method: method ?? 'GET', headers }, (answer) => {
      // The gateway's own health run sends requests, too.
      if (headers['x-request-id'] === 'corpus') reached.push(answer.statusCode ?? 0);
      response.writeHead(answer.statusCode ?? 0, answer.headers);
      answer.pipe(response);
    });
    sent.on('error', () => response.destroy());
    incoming.pipe(sent);
  });
  await new Promise<void>((resolve) => broker.listen(0, '127.0.0.1', resolve));
  const { port } = broker.address() as AddressInfo;
  gateway = await startStandalone({ controllers: pinot.controllerUrl, brokers: `http://127.0.0.1:${port}` });
});

afterAll(async () => {
  await gateway.stop();
  broker.closeAllConnections();
  broker.close();
});

/** Statuses of the responses, by text. */
async function ask(texts: readonly string[]): Promise<[string, number][]> {
  const statuses: [string, number][] = [];
  for (const sql of texts) {
    const answer = await gateway.call('POST', '/query/sql', { sql }, { 'x-request-id': 'corpus' });
    await answer.arrayBuffer();
    statuses.push([sql, answer.status]);
  }
  return statuses;
}

it('allowed texts reach Pinot, and none is rejected', async () => {
  const texts = textsOf(false);
  const statuses = await ask(texts);
  expect(statuses.filter(([, status]) => status === 400 || status === 403)).toEqual([]);
  // Pinot's own response to a text is forwarded, also an error.
  expect(statuses.map(([, status]) => status)).toEqual(reached);
  expect(reached).toHaveLength(texts.length);
});

it('rejected texts never reach it', async () => {
  const before = reached.length;
  const statuses = await ask(textsOf(true));
  expect(statuses.length).toBeGreaterThan(50);
  expect(statuses.filter(([, status]) => status !== 400)).toEqual([]);
  expect(reached).toHaveLength(before);
});
