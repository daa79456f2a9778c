import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AnswerScanner } from '../../src/results/scanner/answer-scanner.ts';
import { JS_KERNEL } from '../../src/results/scanner/kernel-js.ts';
import { createWasmKernel } from '../../src/results/scanner/kernel-wasm.ts';
import type { RowKernel } from '../../src/results/scanner/row-kernel.ts';
import { TEST_HEADERS } from '../../test/support/app.ts';
import { freePorts } from '../../test/support/kubernetes/processes.ts';
import type { Bench } from '../frame/bench.ts';
import { measure, measureInTurn, median } from '../frame/measure.ts';
import { atLeastTimes, atMostTimes, NO_GOAL } from '../frame/rows.ts';
import { startNginx } from '../peers/nginx.ts';
import { cpuMsOf } from '../process-cpu.ts';
import { type Gateway, startGateway } from '../workloads/page-gateway-process.ts';
import { answer } from '../workloads/result.ts';
import { benchStoring } from '../workloads/storing.ts';

const ROWS = 1_000_000;
const MB = 1024 * 1024;
/** About 10 MB, 106 MB and 1 GB. */
const SIZES = [100_000, 1_000_000, 9_700_000] as const;

export async function run(bench: Bench): Promise<void> {
  await benchIndexing(bench);
  await benchPages(bench);
  await benchStoring(bench);
}

/** Finding and checking every row of a response in memory, CPU of all threads. */
export async function benchIndexing(bench: Bench): Promise<void> {
  const chunks = [...answer(ROWS)];
  const whole = Buffer.concat(chunks);
  const megabytes = whole.length / MB;
  const scan = (kernel: RowKernel) => (): number => {
    const scanner = new AnswerScanner({ kernel });
    for (const chunk of chunks) scanner.push(chunk);
    return scanner.end().rowCount;
  };
  const options = { warmup: 6, rounds: 9 };
  const [wasm, js] = await measureInTurn([scan(createWasmKernel()), scan(JS_KERNEL)], options);
  // Last, because the collection of its garbage would count for the others.
  const parsed = await measure(
    () => (JSON.parse(whole.toString('utf8')) as { resultTable: { rows: unknown[] } }).resultTable.rows.length,
    { rounds: 5 },
  );
  const rate = (cpuMs: number): number => (megabytes / cpuMs) * 1000;
  for (const [name, ours, times] of [
    ['wasm', wasm, 15],
    ['js', js, 5],
  ] as const) {
    bench.add({
      work: `indexing 1 M rows × 8 columns (${Math.round(megabytes)} MB), ${name}`,
      unit: 'MB per CPU second',
      better: 'more',
      ours: rate(ours.cpuMs),
      peer: 'JSON.parse',
      theirs: rate(parsed.cpuMs),
      answers: [ours.answer, parsed.answer],
      goal: atLeastTimes(times),
    });
  }
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
const WARM_UP = 3000;
/** The smaller a response is, the more its cost depends on the last JIT tier. */
const SMALL_WARM_UP = 12_000;
const ROUNDS = 15;

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
  bench.note('storing results of 10 MB, 106 MB and 1 GB');
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
const PAGES = 20;
const SMALL_PAGES = 400;
const OFFSET = 123_456;

async function againstPeers(bench: Bench, gateway: Gateway, folder: string): Promise<void> {
  const files = join(folder, 'files');
  await mkdir(files, { mode: 0o755 });
  const [port = 0] = await freePorts(1);
  const nginx = await startNginx(join(folder, 'nginx'), files, port);
  if (nginx === undefined) bench.note('nginx is not installed: its rows are omitted (apt-get install nginx-light)');
  const floor = await startFloor(files);
  try {
    // The small ones first: the large ones use the same code, which is compiled by then.
    for (const { numRows, length, count, warmUp, timesBare } of [
      { numRows: 100, length: SMALL_PAGES, count: 1200, warmUp: SMALL_WARM_UP, timesBare: 2 },
      { numRows: 10_000, length: PAGES, count: 200, warmUp: WARM_UP, timesBare: 1.3 },
    ]) {
      const pages = Array.from({ length }, (_, at) => page(gateway, ROWS, OFFSET + at * numRows, numRows));
      const names = pages.map((_, at) => `${numRows}-${at}.json`);
      const bytes: Buffer[] = [];
      for (const [at, url] of pages.entries()) {
        bytes.push(await read(url));
        await writeFile(join(files, names[at] as string), bytes[at] as Buffer);
      }
      const peers = [
        { ...floor, peer: 'bare node:http, the same bytes, checks nothing', goal: atMostTimes(timesBare) },
        ...(nginx ? [{ ...nginx, peer: 'nginx, files of the same bytes', goal: NO_GOAL }] : []),
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
    await nginx?.stop();
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

/** The same page of a small and of a large result, at the front and at the end. */
async function flatness(bench: Bench, gateway: Gateway): Promise<void> {
  const [small, , large] = SIZES;
  const numRows = 10_000;
  const side = (size: number, offsets: readonly number[]): Side => ({
    pid: gateway.pid,
    urls: offsets.map((offset) => page(gateway, size, offset, numRows)),
  });
  const early = [1234, 23_456, 34_567];
  const late = [9_600_001, 9_612_345, 9_654_321];
  const [reference, front, back] = await serve([side(small, early), side(large, early), side(large, late)], 100);
  const theirs = reference?.wallMs ?? Number.NaN;
  const row = { unit: 'ms wall', better: 'less', peer: 'the same page of 10 MB', theirs } as const;
  for (const [work, measured] of [
    ['a page of 10,000 rows of a result of 1 GB', front],
    ['the same at the end of 1 GB', back],
  ] as const) {
    bench.add({ ...row, work, ours: measured?.wallMs ?? Number.NaN, goal: atMostTimes(1.2) });
  }
}
