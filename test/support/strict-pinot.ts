import { readFileSync, writeFileSync } from 'node:fs';
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { describeCluster } from './foreign-pinot.ts';
import { loadRecordedTables } from './recorded-tables.ts';
import { WAIT_LIMIT_MS } from './limits.ts';
import { once } from './once.ts';

type Role = 'controller' | 'broker' | 'server';

/** Ports of the recorded cluster: those of brokers serve all tables, those of servers are the administrative ones. */
type Cluster = Readonly<Record<`${number}`, Role>>;

interface Asked {
  readonly role: Role;
  readonly method: string;
  /** With its query string, as it came. */
  readonly path: string;
  /** Lower-case names, without those of the connection. */
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Answered {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

interface Exchange {
  readonly asked: Asked;
  readonly answered: Answered;
}

const FOLDER = join(import.meta.dirname, '../fixtures/pinot-1.5.1/gateway');
/** URL of the controller of a real cluster, to record anew: see test/fixtures/README.md. */
const RECORD_FROM = process.env['RECORD_PINOT'];
/** Headers of one connection, and those that name the client or its request. */
const IGNORED_HEADERS = new Set([
  ...['host', 'connection', 'content-length', 'transfer-encoding', 'keep-alive', 'date'],
  ...['x-request-id', 'user-agent', 'accept-language', 'sec-fetch-mode'],
]);

/**
 * A Pinot 1.5.1 that answers exactly the requests that a gateway sent to a real one, on as many ports. A request matches by role, method, path, headers and body.
 * Equal requests get the recorded answers in order, then the last one again. Any other request is added to `unknown` and gets 501.
 */
export class StrictPinot {
  /** What was never recorded, as JSON. */
  readonly unknown: string[] = [];
  /** All requests, `METHOD role path`, of queries with the text. */
  readonly asked: string[] = [];
  readonly #file: string;
  readonly #cluster: Cluster;
  readonly #answers = new Map<string, Answered[]>();
  readonly #recorded: Exchange[] = [];
  readonly #servers: Server[] = [];
  /** Ports of this process by recorded ones. */
  readonly #ports = new Map<string, string>();

  private constructor(file: string, cluster: Cluster, exchanges: readonly Exchange[]) {
    this.#file = file;
    this.#cluster = cluster;
    for (const { asked, answered } of exchanges) this.#add(asked, answered);
  }

  /** @param name of the file with the recordings */
  static async start(name: string): Promise<StrictPinot> {
    const file = join(FOLDER, `${name}.jsonl`);
    const pinot = RECORD_FROM === undefined ? read(file) : new StrictPinot(file, await clusterOf(RECORD_FROM), []);
    for (const [port, role] of Object.entries(pinot.#cluster)) await pinot.#listen(port, role);
    return pinot;

    function read(path: string): StrictPinot {
      const [cluster, ...exchanges] = readFileSync(path, 'utf8').trimEnd().split('\n');
      return new StrictPinot(
        path,
        JSON.parse(cluster as string) as Cluster,
        exchanges.map((line) => JSON.parse(line) as Exchange),
      );
    }
  }

  get controllerUrl(): string {
    return this.urlOf('controller');
  }

  /** The first port of a role. */
  urlOf(wanted: Role): string {
    const [port] = Object.entries(this.#cluster).find(([, role]) => role === wanted) ?? [];
    return `http://127.0.0.1:${this.#ports.get(port as string)}`;
  }

  /** Ends it; writes the file after a recording. */
  async close(): Promise<void> {
    for (const server of this.#servers) {
      server.closeAllConnections();
      await once(server.close(), 'close');
    }
    if (RECORD_FROM === undefined) return;
    const lines = [this.#cluster, ...this.#recorded].map((line) => JSON.stringify(line));
    writeFileSync(this.#file, `${lines.join('\n')}\n`);
  }

  async #listen(port: string, role: Role): Promise<void> {
    const server = createServer((incoming, response) => {
      this.#answer(port, role, incoming).then(
        ({ status, headers, body }) => send(response, status, headers, this.#toActual(body)),
        (error: unknown) => send(response, 500, {}, String(error)),
      );
    });
    this.#servers.push(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    this.#ports.set(port, String((server.address() as AddressInfo).port));
  }

  async #answer(port: string, role: Role, incoming: IncomingMessage): Promise<Answered> {
    const { method = '', url = '' } = incoming;
    const body = this.#toRecorded(await text(incoming));
    // The gateway asks whether the engine has a path. The recorded one had all that are asked for.
    if (method === 'OPTIONS' && RECORD_FROM === undefined) return { status: 200, headers: {}, body: '' };
    const asked = { role, method, path: this.#toRecorded(url), headers: headersOf(incoming.headers), body };
    this.asked.push(`${method} ${role} ${decodeURIComponent(asked.path)}${sqlOf(body)}`);
    if (RECORD_FROM !== undefined) {
      const answered = await forward(port, asked);
      this.#record(asked, answered);
      return answered;
    }
    const answers = this.#answers.get(keyOf(asked)) ?? this.#answers.get(keyOf(withoutIdentity(asked)));
    if (answers !== undefined) return answers.length > 1 ? (answers.shift() as Answered) : (answers[0] as Answered);
    this.unknown.push(JSON.stringify(asked).slice(0, 2_000));
    return { status: 501, headers: {}, body: JSON.stringify({ error: 'nothing is recorded for this request' }) };
  }

  /** Not where only times differ from the last answer to the same request. */
  #record(asked: Asked, answered: Answered): void {
    const last = this.#recorded.findLast((one) => keyOf(one.asked) === keyOf(asked));
    if (last !== undefined && withoutTimes(asked, last.answered) === withoutTimes(asked, answered)) return;
    this.#recorded.push({ asked, answered });
  }

  #add(asked: Asked, answered: Answered): void {
    const key = keyOf(asked);
    const known = this.#answers.get(key);
    if (known === undefined) this.#answers.set(key, [answered]);
    else known.push(answered);
  }

  #toActual(body: string): string {
    return replacePorts(body, this.#ports);
  }

  #toRecorded(part: string): string {
    return replacePorts(part, new Map([...this.#ports].map(([recorded, actual]) => [actual, recorded])));
  }
}

function replacePorts(part: string, ports: ReadonlyMap<string, string>): string {
  return part.replaceAll(/(?<![\d.])\d{4,5}(?![\d.])/g, (number) => ports.get(number) ?? number);
}

/** The fields in one order. */
function keyOf({ role, method, path, headers, body }: Asked): string {
  return JSON.stringify([role, method, path, Object.entries(headers).toSorted(), body]);
}

/** `identity` is what a request without the header asks for. */
function withoutIdentity(asked: Asked): Asked {
  const { 'accept-encoding': coding, ...headers } = asked.headers;
  return coding === 'identity' ? { ...asked, headers } : asked;
}

/** The answer to compare; of a query without the numbers and ids beside its rows and errors. */
function withoutTimes({ path }: Asked, { status, body }: Answered): string {
  const plain = path === '/query/sql' ? body.replaceAll(/"\w+":(?:\d+|"[\w.]*"),?|"stageStats":.*/g, '') : body;
  return `${status} ${plain}`;
}

function sqlOf(body: string): string {
  return body.startsWith('{"sql') ? ` ${body}` : '';
}

function headersOf(headers: IncomingMessage['headers']): Record<string, string> {
  const kept = Object.entries(headers).filter(([name]) => !IGNORED_HEADERS.has(name));
  return Object.fromEntries(kept.map(([name, value]) => [name, String(value)]));
}

async function clusterOf(controller: string): Promise<Cluster> {
  const description = await describeCluster(controller);
  await loadRecordedTables(description);
  const { controllerUrl, brokerUrls, serverAdminUrls } = description;
  const entries = (urls: readonly string[], role: Role) => urls.map((url) => [new URL(url).port, role] as const);
  return Object.fromEntries([
    ...entries([controllerUrl], 'controller'),
    ...entries(brokerUrls, 'broker'),
    ...entries(serverAdminUrls, 'server'),
  ]) as Cluster;
}

function forward(port: string, { method, path, headers, body }: Asked): Promise<Answered> {
  const signal = AbortSignal.timeout(WAIT_LIMIT_MS);
  const lengths = body === '' ? {} : { 'content-length': Buffer.byteLength(body) };
  return new Promise((resolve, reject) => {
    request({ host: '127.0.0.1', port, method, path, headers: { ...headers, ...lengths }, signal }, (answer) => {
      text(answer).then(
        (read) => resolve({ status: answer.statusCode ?? 0, headers: headersOf(answer.headers), body: read }),
        reject,
      );
    })
      .once('error', reject)
      .end(body);
  });
}

function send(response: ServerResponse, status: number, headers: Readonly<Record<string, string>>, body: string): void {
  response.writeHead(status, headers).end(body);
}
