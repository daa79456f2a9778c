import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { GatewayProcess } from '../../support/gateway-process.ts';
import { RawClient, type RawRequest, requestBytes } from '../../support/raw-client.ts';
import { StubEngine } from '../../support/stub-engine.ts';
import {
  afterEnd,
  answerMarker,
  type AnswerPlan,
  authorized,
  differences,
  failure,
  FRAMINGS,
  LARGE_PLANS,
  MB,
  nextMarker,
  PLANS,
  type Way,
  WAYS,
} from './answers.ts';
import { silentConnections } from './silent-connections.ts';

// The client gets the complete response of the engine, by every route, for every kind of client, in every size and framing; and the connection
// can be reused, because the next response on it is checked as well.

let engine: StubEngine;
let gateway: GatewayProcess;
/** They are idle while the other tests run. */
let silent: Promise<string[]>;

beforeAll(async () => {
  engine = new StubEngine(['orders_OFFLINE']);
  engine.responder = answerMarker;
  await engine.listen();
  gateway = await GatewayProcess.start({ controllers: engine.url });
  silent = silentConnections(gateway);
  // The test that awaits it reports its failure.
  silent.catch(() => undefined);
});
afterAll(async () => {
  await gateway?.stop();
  await engine?.close();
});

/** Sends requests in the manner of one client. Returns all differences. */
type Client = (way: Way, plans: readonly AnswerPlan[]) => Promise<string[]>;

const NEW_CONNECTION = 'new connection for each';

function client(options: {
  readonly version?: '1.0' | '1.1';
  readonly headers?: readonly (readonly [string, string])[];
  readonly slow?: boolean;
  readonly connection?: typeof NEW_CONNECTION;
}): Client {
  const { version = '1.1', headers = [], slow = false } = options;
  return async (way, plans) => {
    const wrong: string[] = [];
    let connection: RawClient | undefined;
    for (const plan of plans) {
      connection ??= await RawClient.open(gateway.port, { slow });
      const marker = nextMarker(plan);
      const request: RawRequest = { version, ...authorized(gateway, way.request(marker), ...headers) };
      try {
        wrong.push(...differences(marker, await connection.request(request)));
        if (options.connection !== undefined) wrong.push(...(await afterEnd(connection)));
      } catch (error) {
        wrong.push(...failure(marker, error));
        connection.destroy();
        connection = undefined;
      }
      if (options.connection !== undefined || connection?.ended === true) {
        connection?.destroy();
        connection = undefined;
      }
    }
    if (connection !== undefined) wrong.push(...extra(connection));
    connection?.destroy();
    return wrong;
  };
}

function extra(connection: RawClient): string[] {
  return connection.unread === 0 ? [] : [`${connection.unread} bytes after the last answer`];
}

const pipelined: Client = async (way, plans) => {
  const wrong: string[] = [];
  for (let i = 0; i < plans.length; i += MAX_PIPELINED)
    wrong.push(...(await atOnce(way, plans.slice(i, i + MAX_PIPELINED))));
  return wrong;
};

/** The most that a connection may send at once. */
const MAX_PIPELINED = 17;

const atOnce: Client = async (way, plans) => {
  const wrong: string[] = [];
  const connection = await RawClient.open(gateway.port);
  const markers = plans.map(nextMarker);
  connection.send(Buffer.concat(markers.map((marker) => requestBytes(authorized(gateway, way.request(marker))))));
  for (const marker of markers) {
    try {
      wrong.push(...differences(marker, await connection.answer()));
    } catch (error) {
      wrong.push(...failure(marker, error));
      break;
    }
  }
  wrong.push(...extra(connection));
  connection.destroy();
  return wrong;
};

const KEEP_ALIVE = ['Connection', 'keep-alive'] as const;
const CLOSE = ['Connection', 'close'] as const;
const GZIP = ['Accept-Encoding', 'gzip, deflate'] as const;

const CLIENTS: Readonly<Record<string, Client>> = {
  'keeps its connection': client({ headers: [KEEP_ALIVE] }),
  'closes its connection': client({ headers: [CLOSE], connection: NEW_CONNECTION }),
  'speaks HTTP/1.0': client({ version: '1.0', connection: NEW_CONNECTION }),
  'speaks HTTP/1.0 and keeps its connection': client({ version: '1.0', headers: [KEEP_ALIVE] }),
  'accepts gzip': client({ headers: [GZIP] }),
  'accepts gzip and closes': client({ headers: [GZIP, CLOSE], connection: NEW_CONNECTION }),
  'sends all requests at once': pipelined,
};

describe.each(WAYS)('answers to $name', (way) => {
  it.each(Object.entries(CLIENTS))('are complete for a client that %s', async (_name, ask) => {
    expect(await ask(way, PLANS)).toEqual([]);
  });
});

const POST = WAYS.slice(0, 1) as [Way];

describe('large answers', () => {
  it.each([...POST, ...WAYS.slice(-1)])('to $name of 50 MB are complete', async (way) => {
    for (const name of ['keeps its connection', 'closes its connection'] as const) {
      expect(await CLIENTS[name]?.(way, [...LARGE_PLANS, { bytes: 200, framing: 'length' }]), name).toEqual([]);
    }
  });

  it.each(Object.entries(CLIENTS))('of 20 MB are complete for a client that %s', async (_name, ask) => {
    const plan: AnswerPlan = { bytes: 20 * MB, framing: 'chunks' };
    expect(await ask(POST[0], [plan, plan])).toEqual([]);
  });
});

describe('a client that reads slowly', () => {
  // More than the buffers of the system, so that the gateway has to wait.
  const large: readonly AnswerPlan[] = FRAMINGS.map((framing) => ({ bytes: 6 * MB, framing }));
  const slow = client({ headers: [KEEP_ALIVE], slow: true });
  const closing = client({ headers: [CLOSE], slow: true, connection: NEW_CONNECTION });

  it('gets complete responses by every route', async () => {
    expect((await Promise.all(WAYS.map((way) => slow(way, PLANS)))).flat()).toEqual([]);
  });

  it('gets complete large responses, also with Connection: close', async () => {
    const asked = [...POST, ...WAYS.slice(-2)].flatMap((way) => [slow(way, [...large, ...PLANS]), closing(way, large)]);
    expect((await Promise.all(asked)).flat()).toEqual([]);
  });
});

it('an idle connection is reused, by every route', async () => {
  expect(await silent).toEqual([]);
});
