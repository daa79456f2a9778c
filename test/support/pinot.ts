import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startCluster, type ClusterOptions, type RunningCluster } from '../../tools/pinot/cluster.ts';
import { awaitRows, createTable, deleteTable, loadSampleTables, uploadRows } from '../../tools/pinot/tables.ts';
import { sharedPart } from './shared-parts.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

type Json = Readonly<Record<string, unknown>>;

/** The addresses of a Pinot cluster; plain data, for other processes. URLs have no trailing slash. */
export interface PinotDescription {
  readonly controllerUrl: string;
  readonly brokerUrls: readonly string[];
  readonly serverAdminUrls: readonly string[];
}

/** A Pinot cluster, with the operations that every test may use. */
export class PinotClient implements PinotDescription {
  readonly controllerUrl: string;
  readonly brokerUrls: readonly string[];
  readonly serverAdminUrls: readonly string[];

  constructor(description: PinotDescription) {
    this.controllerUrl = description.controllerUrl;
    this.brokerUrls = description.brokerUrls;
    this.serverAdminUrls = description.serverAdminUrls;
  }

  /** The first broker. */
  get brokerUrl(): string {
    return this.brokerUrls[0] ?? '';
  }

  /** Creates the schema and a table of it. The schema's `schemaName` and `segmentsConfig.schemaName` must be the table's name. */
  createTable(schema: Json, config: Json): Promise<void> {
    return createTable(this.controllerUrl, schema, config);
  }

  /** Deletes the table and its schema. */
  deleteTable(name: string): Promise<void> {
    return deleteTable(this.controllerUrl, name);
  }

  /**
   * Adds one segment with these rows, each a line of JSON (a text, so that a LONG keeps its digits), to an offline table.
   * Resolves before brokers route to it: see {@link awaitRows}.
   */
  uploadRows(table: string, lines: readonly string[]): Promise<void> {
    return uploadRows(this.controllerUrl, table, lines);
  }

  /** Waits until every broker counts that many rows. @throws {Error} after two minutes */
  awaitRows(table: string, rows: number): Promise<void> {
    return awaitRows(this.brokerUrls, table, rows);
  }

  /** A broker's answer to one SQL text, byte for byte. */
  async query(sql: string, brokerUrl: string = this.brokerUrl): Promise<string> {
    const body = JSON.stringify({ sql });
    const answer = await fetch(`${brokerUrl}/query/sql`, {
      method: 'POST',
      body,
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
    return answer.text();
  }
}

/** A Pinot cluster of this process, which a test may break; it ends with the process at the latest. */
export class Pinot extends PinotClient {
  readonly #cluster: RunningCluster;
  readonly #directory: string;

  constructor(cluster: RunningCluster, directory: string) {
    super(cluster);
    this.#cluster = cluster;
    this.#directory = directory;
  }

  /** The id of its process. */
  get pid(): number {
    return this.#cluster.pid;
  }

  /** The file of a segment in the deep store, which is a folder of the controller. @param table without its type */
  segmentFile(table: string, segment: string): string {
    return join(this.#directory, 'controller', table, segment);
  }

  /** Stops the server gracefully: it leaves ZooKeeper at once. Numbers are indexes of `serverAdminUrls`. */
  async stopServer(index: number): Promise<void> {
    await this.#cluster.command(`stop-server ${index}`);
  }

  /** Starts it again on the same ports; resolves when it is healthy. */
  async startServer(index: number): Promise<void> {
    await this.#cluster.command(`start-server ${index}`);
  }

  async stopBroker(index: number): Promise<void> {
    await this.#cluster.command(`stop-broker ${index}`);
  }

  async startBroker(index: number): Promise<void> {
    await this.#cluster.command(`start-broker ${index}`);
  }

  /** Starts one more controller, beside those that there are. @returns its base URL */
  async addController(): Promise<string> {
    return String(await this.#cluster.command('add-controller'));
  }

  /** Starts a minion, once; resolves when it is healthy. */
  async startMinion(): Promise<void> {
    await this.#cluster.command('start-minion');
  }

  /** Freezes the whole cluster: connections stay open without data. */
  pause(): void {
    process.kill(this.#cluster.pid, 'SIGSTOP');
  }

  resume(): void {
    process.kill(this.#cluster.pid, 'SIGCONT');
  }

  /** Starts Kafka in the cluster, once. @returns its `host:port` for `stream.kafka.broker.list` */
  async startKafka(): Promise<string> {
    return String(await this.#cluster.command('start-kafka'));
  }

  async createTopic(name: string, partitions: number): Promise<void> {
    await this.#cluster.command(`create-topic ${name} ${partitions}`);
  }

  /** Sends messages of key and JSON text (without tabs or line ends) to a topic; resolves when Kafka has them all. */
  async produce(topic: string, messages: readonly (readonly [key: string, value: string])[]): Promise<void> {
    const file = join(this.#directory, `${topic}-${messages.length}.tsv`);
    await writeFile(file, messages.map(([key, value]) => `${key}\t${value}\n`).join(''));
    await this.#cluster.command(`produce ${topic} ${file}`);
    await rm(file);
  }

  async stop(): Promise<void> {
    await this.#cluster.stop();
    await rm(this.#directory, { recursive: true, force: true });
  }
}

export interface PinotOptions {
  /** 1 by default. */
  readonly brokers?: number;
  /** 2 by default. */
  readonly servers?: number;
  /** Names of sample tables to load (`orders`, `customers`, `types`); none by default. */
  readonly tables?: readonly string[];
  readonly properties?: ClusterOptions['properties'];
}

/**
 * Starts a separate Pinot on free ports of 127.0.0.1, which a test may break; about ten seconds, 400 MB.
 * For tests that only read use {@link sharedPinot}.
 */
export async function startPinot(options: PinotOptions = {}): Promise<Pinot> {
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-pinot-'));
  try {
    const { brokers = 1, servers = 2, properties = {} } = options;
    const cluster = await startCluster({ directory, brokers, servers, properties });
    const pinot = new Pinot(cluster, directory);
    if (options.tables !== undefined) await loadTables(pinot, options.tables);
    return pinot;
  } catch (error) {
    await rm(directory, { recursive: true, force: true });
    throw error;
  }
}

async function loadTables(pinot: Pinot, names: readonly string[]): Promise<void> {
  try {
    await loadSampleTables(pinot, () => undefined, names);
  } catch (error) {
    await pinot.stop();
    throw error;
  }
}

/**
 * The Pinot that all tests of a run share: two brokers, three servers, the sample tables. It starts on the first call.
 * Create your own tables with unique names; a test that stops servers starts its own cluster. `TEST_CONTROLLER=URL` names another cluster.
 */
export async function sharedPinot(): Promise<PinotClient> {
  return new PinotClient(await sharedPart('pinot'));
}
