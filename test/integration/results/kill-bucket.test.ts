import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { ListMultipartUploadsCommand, ListObjectsV2Command } from '@aws-sdk/client-s3';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fileInS3Properties, gcsProperties, s3Properties, type TestBucket } from '../../support/result-stores.ts';
import type { PropertyValues } from '../../../src/platform/setting-schema.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { readPage } from '../../../src/results/rows/page.ts';
import type { ResultReader, ResultStore } from '../../../src/results/result-store.ts';
import { createResultStore } from '../../../src/results/stores/result-stores.ts';
import { type Cut, CutProxy, type SeenRequest } from '../../support/cut-proxy.ts';
import { type GcsServer, startGcs } from '../../support/gcs.ts';
import { type S3Server, startS3 } from '../../support/s3.ts';
import { collect } from '../../unit/results/answers.ts';
import type { BucketProgram } from './kill-bucket-program.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { within } from '../../support/until.ts';

const PROGRAM = join(import.meta.dirname, 'kill-bucket-program.ts');
const KILLED = 'gateway-0';
const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

// A proxy in front of the object server kills the gateway at each request of two submissions and a deletion in turn.

/** Contents of a bucket, requested from the server directly. */
interface Contents {
  readonly objects: readonly string[];
  readonly uploads: readonly string[];
}

interface Place {
  readonly cuts: readonly Cut[];
  readonly properties: (bucket: TestBucket) => PropertyValues;
  readonly server: () => S3Server | GcsServer;
  readonly contents: (bucket: TestBucket) => Promise<Contents>;
}

let s3: S3Server;
let gcs: GcsServer;
beforeAll(async () => {
  [s3, gcs] = await Promise.all([startS3(), startGcs()]);
});
afterAll(async () => {
  await s3?.stop();
  await gcs?.stop();
});

async function contentsOfS3({ bucket }: TestBucket): Promise<Contents> {
  const client = s3.client();
  const objects = await client.send(new ListObjectsV2Command({ Bucket: bucket }));
  const uploads = await client.send(new ListMultipartUploadsCommand({ Bucket: bucket }));
  client.destroy();
  return {
    objects: (objects.Contents ?? []).map(({ Key = '' }) => Key),
    uploads: (uploads.Uploads ?? []).map(({ Key = '' }) => Key),
  };
}

async function contentsOfGcs({ bucket, endpoint }: TestBucket): Promise<Contents> {
  const answer = await fetch(`${endpoint}/storage/v1/b/${bucket}/o`);
  const { items = [] } = (await answer.json()) as { items?: { name: string }[] };
  return { objects: items.map(({ name }) => name), uploads: [] };
}

const PLACES: Readonly<Record<string, Place>> = {
  s3: {
    cuts: ['before', 'midway', 'after', 'late'],
    properties: s3Properties,
    server: () => s3,
    contents: contentsOfS3,
  },
  gcs: {
    cuts: ['before', 'midway', 'after', 'late'],
    properties: gcsProperties,
    server: () => gcs,
    contents: contentsOfGcs,
  },
  'file in a bucket of S3': {
    cuts: ['after'],
    properties: (bucket) => fileInS3Properties(bucket, bucket.prefix),
    server: () => s3,
    contents: contentsOfS3,
  },
};

/** The process that is killed. */
class Victim {
  readonly #child: ChildProcess;
  readonly #lines: Interface;
  readonly #exited: Promise<unknown>;
  readonly said: string[] = [];

  constructor(program: BucketProgram) {
    this.#child = spawn(process.execPath, [PROGRAM, JSON.stringify(program)], {
      stdio: ['pipe', 'pipe', 'inherit'],
    });
    this.#exited = once(this.#child, 'exit');
    this.#child.stdin!.on('error', () => undefined);
    this.#lines = createInterface({ input: this.#child.stdout! }).on('line', (line) => this.said.push(line));
  }

  get stored(): string[] {
    return this.#ids('stored');
  }

  get storing(): string[] {
    return this.#ids('storing');
  }

  get deleted(): string[] {
    return this.#ids('deleted');
  }

  /** Also resolves when the process was killed. */
  async says(line: string): Promise<void> {
    while (!this.said.includes(line) && this.#child.signalCode === null) {
      await within(`\`${line}\` from the program`, Promise.race([once(this.#lines, 'line'), this.#exited]));
      if (this.#child.exitCode !== null) throw new Error(`it ended by itself: ${this.said.join(', ')}`);
    }
  }

  do(step: string): void {
    this.#child.stdin!.write(`${step}\n`);
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#exited;
  }

  #ids(what: string): string[] {
    return this.said.filter((line) => line.startsWith(`${what} `)).map((line) => line.slice(what.length + 1));
  }
}

/** Opens the store of a gateway. */
async function open(properties: PropertyValues, gatewayId: string): Promise<ResultStore> {
  return createResultStore(properties, {
    gatewayId,
    clock: systemClock,
    onProblem: (message) => {
      throw new Error(message);
    },
  });
}

/** Ids of all listed results that are not damaged, after checking that each is complete. @param read which of its rows are read */
async function listedWhole(store: ResultStore, read: 'all' | 'last' | 'none' = 'none'): Promise<string[]> {
  const ids: string[] = [];
  for await (const { record, damaged } of store.list(signal())) {
    const { requestId, rowCount } = record;
    if (damaged !== undefined) {
      await expectDamaged(store, requestId);
      continue;
    }
    ids.push(requestId);
    const reader = await store.open(requestId, signal());
    if (reader === undefined) throw new Error(`${requestId} is listed and cannot be opened`);
    if (read !== 'none') await expectRows(reader, read === 'all' ? 0 : rowCount - 1);
    await reader.close();
  }
  return ids.sort();
}

/** What arrives late from a killed gateway is damaged for all, until that gateway starts again and removes it. */
async function expectDamaged(store: ResultStore, requestId: string): Promise<void> {
  const found = await store.open(requestId, signal()).catch((error: unknown) => error);
  if (found instanceof Error) {
    expect(found).toMatchObject({ code: 'damaged' });
    return;
  }
  const reader = found as ResultReader;
  // A gateway uses a record that it read a moment ago. Its rows are there, where only the record was deleted, or gone.
  if (reader.damage === undefined) {
    await reader.read(0, reader.record.rowBytes, signal()).catch((error: unknown) => {
      expect(error).toMatchObject({ code: 'not-found' });
    });
  }
  await reader.close();
}

async function expectRows(reader: ResultReader, offset: number): Promise<void> {
  const { rowCount } = reader.record;
  const { rows } = await readPage(reader, { offset, numRows: rowCount }, {}, signal());
  const numbers = (JSON.parse(`[${await collect(rows)}]`) as [number, string][]).map(([number]) => number);
  expect(numbers).toEqual(Array.from({ length: rowCount - offset }, (_, i) => offset + i));
}

/** A gateway uses cached records for a moment, but must not return rows that do not exist. */
async function expectGone(store: ResultStore, requestId: string): Promise<void> {
  const reader = await store.open(requestId, signal());
  if (reader === undefined) return;
  await expect(reader.read(0, reader.record.rowBytes, signal())).rejects.toMatchObject({ code: 'not-found' });
  await reader.close();
}

/** A kill after a request equals one before the next request. Requests that only read are skipped. */
function momentsOf(requests: readonly SeenRequest[]): [number, Cut][] {
  return requests.flatMap(({ method, bodyBytes }, at): [number, Cut][] => {
    if (method === 'HEAD' || method === 'GET') return [];
    const cuts: Cut[] = [...(at === 0 ? ['before' as const] : []), ...(bodyBytes > 500 ? ['midway' as const] : [])];
    return [...cuts, 'after' as const, 'late' as const].map((cut) => [at, cut]);
  });
}

const sorted = (ids: readonly string[]): string[] => [...ids].sort();

describe.each(Object.entries(PLACES))('a gateway that is killed while it stores results in %s', (name, place) => {
  let bucket: TestBucket;
  let direct: PropertyValues;
  let proxy: CutProxy;
  let next: Victim;
  let neighbour: ResultStore;
  const victim = (): Victim => new Victim({ gatewayId: KILLED, properties: throughProxy });
  let throughProxy: PropertyValues;

  beforeAll(async () => {
    const server = place.server();
    bucket = await server.bucket(`killed-${Object.keys(PLACES).indexOf(name)}`);
    proxy = new CutProxy(server.url);
    await proxy.listen();
    direct = place.properties(bucket);
    throughProxy = place.properties({ ...bucket, endpoint: proxy.url });
    neighbour = await open(direct, 'gateway-1');
    await neighbour.start(signal());
    next = victim();
  });
  afterAll(async () => {
    await next?.kill();
    await neighbour?.close();
    await proxy?.close();
  });

  /** Runs the work and kills the process at a request. @returns the process, and the contents of the bucket before the restart */
  async function killAt(at: number, how: Cut): Promise<{ dead: Victim; before: Contents }> {
    const dead = next;
    await dead.says('loaded');
    // Meanwhile the next process loads its SDK.
    next = victim();
    dead.do('start');
    await dead.says('did start');
    proxy.arm(at, how, () => dead.kill());
    dead.do('work');
    await dead.says('did work');
    await dead.kill();
    await proxy.disarm();
    return { dead, before: await place.contents(bucket) };
  }

  /** Restarts the gateway and checks the bucket from it and from a gateway that kept running. */
  async function afterRestart(dead: Victim): Promise<string[]> {
    const whole = await listedWhole(neighbour, 'all');
    const restarted = await open(direct, KILLED);
    await restarted.start(signal());
    expect(await listedWhole(restarted, 'last')).toEqual(whole);
    if (await proxy.deliver()) {
      for (const store of [neighbour, restarted]) await listedWhole(store, 'last');
      await restarted.start(signal());
    }
    const listed = await listedWhole(restarted);
    expect(await listedWhole(neighbour)).toEqual(listed);
    for (const id of dead.storing.filter((one) => !listed.includes(one))) {
      for (const store of [neighbour, restarted]) await expectGone(store, id);
    }
    // Two objects per result, and no others.
    const keys = listed.flatMap((id) => [`${bucket.prefix}${id}.json`, `${bucket.prefix}${id}.rows`]);
    expect(await place.contents(bucket)).toEqual({ objects: sorted(keys), uploads: [] });
    for (const id of listed) expect(await restarted.delete(id, signal())).toBe(true);
    await restarted.close();
    return listed;
  }

  it('leaves only complete results, at whichever request it is killed', async () => {
    const { dead: unharmed } = await killAt(-1, 'before');
    const requests = [...proxy.seen];
    expect(await afterRestart(unharmed)).toEqual(sorted(unharmed.stored.slice(0, 1)));

    let uploads = 0;
    let orphans = 0;
    for (const [at, how] of momentsOf(requests).filter(([, cut]) => place.cuts.includes(cut))) {
      const { dead, before } = await killAt(at, how);
      const listed = await afterRestart(dead);
      // Results reported as stored exist, unless a deletion was in progress.
      expect(listed, `${how} request ${at}`).toEqual(expect.arrayContaining(dead.stored.slice(0, 1)));
      uploads += before.uploads.length;
      orphans += before.objects.length - 2 * listed.length > 0 ? 1 : 0;
    }
    // The test covered rows without records, and incomplete uploads if the server lists them.
    expect(orphans).toBeGreaterThan(2);
    if (place.contents === contentsOfS3) expect(uploads).toBeGreaterThan(2);
  });
});
