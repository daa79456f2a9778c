import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { TEST_HEADERS } from '../../test/support/app.ts';
import { freePorts } from '../../test/support/kubernetes/processes.ts';
import { reasonOf, type Bench } from '../frame/bench.ts';
import { lastOf, measure, median } from '../frame/measure.ts';
import { atLeastTimes, atMostTimes, NO_GOAL } from '../frame/rows.ts';
import { sized } from '../frame/sizes.ts';
import { nginxProgram, startNginx } from '../peers/nginx.ts';
import { cpuMsOf } from '../process-cpu.ts';
import { benchIndexing, indexCurve, ROWS, SIZES } from '../workloads/indexing.ts';
import { type Gateway, startGateway } from '../workloads/page-gateway-process.ts';
import { answer } from '../workloads/result.ts';
import { benchStoring } from '../workloads/storing.ts';

export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  await bench.part('indexing', () => benchIndexing(bench));
  await bench.part('indexing by size', () => indexCurve(bench));
  await bench.part('pages', () => benchPages(bench));
  await benchStoring(bench);
}

const connection = (): Agent => new Agent({ keepAlive: true, maxSockets: 1 });
let agent = connection();

/** The next requests open new connections. */
function reconnect(): void {
  agent.destroy();
  agent = connection();
}

/** Reads a response to its end. */
function read(url: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: TEST_HEADERS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks));
        else reject(new Error(`${url} returned ${response.statusCode}`));
      });
    }).once('error', reject);
  });
}

/** The servers of the same pages, each with its own address. */
interface Side {
  readonly pid: number;
  readonly urls: readonly string[];
}

interface Served {
  /** Of the serving process for one response. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

/** Requests to both sides before the measurement, for the JIT compilers. */
const WARM_UP = sized({ quick: 20, normal: 3000 });
/** The smaller a response is, the more its cost depends on the last JIT tier. */
const SMALL_WARM_UP = sized({ quick: 20, normal: 12_000 });
const ROUNDS = sized({ quick: 2, normal: 15 });

/**
 * Reads the pages of every side in turn, round by round, so that other load of the machine affects all of them; medians over the rounds. Each round
 * uses a new connection: the state of a connection in the kernel, such as its congestion window, can be two thirds of the cost of a large page and
 * would affect only one side.
 */
async function serve(sides: readonly Side[], count: number, warmUp = WARM_UP): Promise<Served[]> {
  const rounds = sides.map(() => ({ cpu: [] as number[], wall: [] as number[] }));
  for (const { urls } of sides) for (let i = 0; i < warmUp; i++) await read(urls[i % urls.length] as string);
  for (let round = 0; round < ROUNDS; round++) {
    for (const [index, { pid, urls }] of sides.entries()) {
      reconnect();
      await read(urls[0] as string);
      const before = await cpuMsOf(pid);
      const started = performance.now();
      for (let i = 0; i < count; i++) await read(urls[i % urls.length] as string);
      rounds[index]?.wall.push((performance.now() - started) / count);
      rounds[index]?.cpu.push(((await cpuMsOf(pid)) - before) / count);
    }
  }
  return rounds.map(({ cpu, wall }) => ({ cpuMs: median(cpu), wallMs: median(wall) }));
}

export async function benchPages(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  bench.note(`storing results of ${SIZES.map(sizeText).join(', ')}`);
  const gateway = await startGateway(folder, SIZES);
  try {
    await againstPeers(bench, gateway, folder);
    await flatness(bench, gateway);
  } finally {
    gateway.stop();
    await rm(folder, { recursive: true });
  }
}

const page = (gateway: Gateway, size: number, offset: number, numRows: number): string =>
  `${gateway.url}/query/${gateway.ids.get(size)}/results?offset=${offset}&numRows=${numRows}`;

/** Pages that a client reads one after the other, repeatedly: more than one read-ahead for small ones. */
const PAGES = sized({ quick: 2, normal: 20 });
const SMALL_PAGES = sized({ quick: 20, normal: 400 });
const OFFSET = sized({ quick: 1234, normal: 123_456 });
const NGINX_PEER = 'nginx, files of the same bytes';

async function againstPeers(bench: Bench, gateway: Gateway, folder: string): Promise<void> {
  const files = join(folder, 'files');
  await mkdir(files, { mode: 0o755 });
  const [port = 0] = await freePorts(1);
  const nginx = await nginxProgram(bench)
    .then((program) => startNginx(program, join(folder, 'nginx'), files, port))
    .catch(reasonOf);
  const floor = await startFloor(files);
  try {
    // The small ones first: the large ones use the same code, which is compiled by then.
    for (const { numRows, length, count, warmUp } of [
      {
        numRows: 100,
        length: SMALL_PAGES,
        count: sized({ quick: 20, normal: 1200 }),
        warmUp: SMALL_WARM_UP,
      },
      { numRows: 10_000, length: PAGES, count: sized({ quick: 5, normal: 200 }), warmUp: WARM_UP },
    ]) {
      const pages = Array.from({ length }, (_, at) => page(gateway, ROWS, OFFSET + at * numRows, numRows));
      const names = pages.map((_, at) => `${numRows}-${at}.json`);
      const bytes: Buffer[] = [];
      for (const [at, url] of pages.entries()) {
        bytes.push(await read(url));
        await writeFile(join(files, names[at] as string), bytes[at] as Buffer);
      }
      const peers = [
        { ...floor, peer: 'bare node:http, the same bytes, checks nothing', goal: atMostTimes(2.5) },
        ...(typeof nginx === 'string' ? [] : [{ ...nginx, peer: NGINX_PEER, goal: NO_GOAL }]),
      ];
      const sides = peers.map(({ pid, url }) => ({ pid, urls: names.map((name) => `${url}/${name}`) }));
      const [ours, ...theirs] = await serve([{ pid: gateway.pid, urls: pages }, ...sides], count, warmUp);
      if (ours === undefined) throw new Error('nothing was measured');
      const work = `a page of ${numRows} rows (${Math.round((bytes[0]?.length ?? 0) / 1024)} KB) from the file store`;
      const row = { work, unit: 'ms CPU', better: 'less', ours: ours.cpuMs } as const;
      for (const [at, { peer, goal }] of peers.entries()) {
        const answers = [await digest(pages), await digest(sides[at]?.urls ?? [])] as const;
        bench.add({ ...row, peer, theirs: theirs[at]?.cpuMs ?? Number.NaN, answers, goal });
      }
      if (typeof nginx === 'string') bench.missing({ ...row, peer: NGINX_PEER, reason: nginx });
      const peer = await parseSliceStringify(OFFSET, numRows);
      bench.add({
        ...row,
        peer: 'parse, slice, stringify',
        theirs: peer.cpuMs,
        // Not compared byte by byte: the peer rounds 9007199254740993.
        answers: [rowsOf(bytes[0]), peer.rows],
        goal: atLeastTimes(25),
      });
    }
  } finally {
    floor.stop();
    if (typeof nginx !== 'string') await nginx.stop();
  }
}

/** Of all pages, one after the other. */
async function digest(urls: readonly string[]): Promise<string> {
  const hash = createHash('sha256');
  for (const url of urls) hash.update(await read(url));
  return hash.digest('hex');
}

function rowsOf(bytes: Buffer | undefined): number {
  return (JSON.parse(String(bytes)) as { resultTable: { rows: unknown[] } }).resultTable.rows.length;
}

async function startFloor(folder: string): Promise<{ url: string; pid: number; stop(): void }> {
  const program = join(import.meta.dirname, '../workloads/page-floor.ts');
  const child = spawn(process.execPath, [program, folder], { stdio: ['pipe', 'pipe', 'inherit'] });
  for await (const port of createInterface(child.stdout)) {
    return { url: `http://127.0.0.1:${port}`, pid: child.pid ?? 0, stop: () => child.stdin.end() };
  }
  throw new Error('the bare server exited before it was ready');
}

/** What the engine's own cursors do: parse the rows of the page and serialize them again (only of the page, in its favour). */
async function parseSliceStringify(offset: number, numRows: number): Promise<{ cpuMs: number; rows: number }> {
  let at = 0;
  const wanted: string[] = [];
  for (const chunk of answer(offset + numRows)) {
    at += chunk.length;
    if (at >= 0) wanted.push(chunk.toString());
  }
  const result = Buffer.from(wanted.join(''));
  const measured = await measure(
    () => {
      const { resultTable } = JSON.parse(result.toString()) as { resultTable: { rows: unknown[] } };
      const rows = resultTable.rows.slice(offset, offset + numRows);
      return { rows: rows.length, text: JSON.stringify({ resultTable: { ...resultTable, rows } }) };
    },
    { rounds: 3 },
  );
  return { cpuMs: measured.cpuMs, rows: measured.answer.rows };
}

/** The same pages of results of each size, at the front and at the end. */
async function flatness(bench: Bench, gateway: Gateway): Promise<void> {
  const numRows = PAGE_ROWS;
  const sides = SIZES.flatMap((rows) => [
    { pid: gateway.pid, urls: [1, 17, 31].map((at) => page(gateway, rows, at, numRows)) },
    { pid: gateway.pid, urls: [1, 17, 31].map((at) => page(gateway, rows, rows - numRows - at, numRows)) },
  ]);
  const served = await serve(sides, sized({ quick: 5, normal: 60 }), sized({ quick: 5, normal: 600 }));
  const front = SIZES.map((_, at) => served[2 * at]!);
  const back = SIZES.map((_, at) => served[2 * at + 1]!);
  // The smallest result has fewer pages than the processor caches hold: the reference is the next one.
  const theirs = front[1]?.wallMs ?? Number.NaN;
  const row = { unit: 'ms wall', better: 'less', theirs, goal: atMostTimes(1.2) } as const;
  const peer = `the same at the front of ${sizeText(SIZES[1]!)}`;
  bench.add({
    ...row,
    peer,
    work: `a page of ${PAGE_ROWS} rows of ${sizeText(lastOf(SIZES))}`,
    ours: lastOf(front).wallMs,
  });
  bench.add({ ...row, peer, work: `the same at its end`, ours: lastOf(back).wallMs });
  const pointsOf = (all: readonly Served[]) => all.map(({ wallMs }, at) => [megabytes(SIZES[at]!), wallMs] as const);
  bench.curve({
    id: 'page-by-result',
    title: `A page of ${PAGE_ROWS} rows by the size of the result`,
    x: { label: 'stored result', unit: 'MB', scale: 'log' },
    y: { label: 'time of a page', unit: 'ms', scale: 'linear' },
    series: [
      { name: 'at the front of the result', points: pointsOf(front) },
      { name: 'at its end', points: pointsOf(back) },
    ],
  });
}

const PAGE_ROWS = 10_000;
const megabytes = (rows: number): number => Math.round((rows * 106) / 100_000) / 10;
const sizeText = (rows: number): string => `${Math.round(megabytes(rows))} MB`;
