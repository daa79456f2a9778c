import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { Agent, get } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { AnswerScanner } from '../../src/query/scanner/answer-scanner.ts';
import { JS_KERNEL } from '../../src/query/scanner/kernel-js.ts';
import { createWasmKernel } from '../../src/query/scanner/kernel-wasm.ts';
import type { RowKernel } from '../../src/query/scanner/row-kernel.ts';
import { TEST_HEADERS } from '../../test/support/app.ts';
import { freePorts } from '../../test/support/kubernetes/processes.ts';
import { atLeastTimes, type Bench, type Goal, measure, median } from '../harness.ts';
import { cpuOf, startNginx } from '../peers/nginx.ts';
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

/** Finding and checking every row of an answer that is in memory, CPU of all threads. */
export async function benchIndexing(bench: Bench): Promise<void> {
  const chunks = [...answer(ROWS)];
  const whole = Buffer.concat(chunks);
  const megabytes = whole.length / MB;
  const scan = (kernel: RowKernel) => (): number => {
    const scanner = new AnswerScanner({ kernel });
    for (const chunk of chunks) scanner.push(chunk);
    return scanner.end().rowCount;
  };
  const [wasm, js] = [
    await measure(scan(createWasmKernel()), { warmup: 3 }),
    await measure(scan(JS_KERNEL), { warmup: 3 }),
  ];
  const parsed = await measure(
    () => (JSON.parse(whole.toString('utf8')) as { resultTable: { rows: unknown[] } }).resultTable.rows.length,
    { rounds: 3 },
  );
  const rate = (cpuMs: number): number => (megabytes / cpuMs) * 1000;
  for (const [name, ours, times] of [
    ['wasm', wasm, 20],
    ['js', js, 6],
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

interface Gateway {
  readonly url: string;
  readonly pid: number;
  readonly ids: ReadonlyMap<number, string>;
  stop(): void;
}

async function startGateway(folder: string, sizes: readonly number[]): Promise<Gateway> {
  const program = join(import.meta.dirname, '../workloads/page-gateway.ts');
  const child = spawn(process.execPath, [program, folder, sizes.join(',')], { stdio: ['pipe', 'pipe', 'inherit'] });
  const ids = new Map<number, string>();
  for await (const line of createInterface(child.stdout)) {
    const [name = '', value = ''] = line.split(' ');
    if (name === 'ready') {
      return { url: `http://127.0.0.1:${value}`, pid: child.pid ?? 0, ids, stop: () => child.stdin.end() };
    }
    ids.set(Number(name), value);
  }
  throw new Error('the gateway ended before it was ready');
}

const agent = new Agent({ keepAlive: true, maxSockets: 1 });

/** Reads an answer to its end. */
function read(url: string): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    get(url, { agent, headers: TEST_HEADERS }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.once('error', reject);
      response.once('end', () => {
        if (response.statusCode === 200) resolve(Buffer.concat(chunks));
        else reject(new Error(`${url} was answered with ${response.statusCode}`));
      });
    }).once('error', reject);
  });
}

/** CPU milliseconds of the serving process for one answer, the median over some rounds, and the median wall time. */
async function serve(pid: number, urls: readonly string[], count: number): Promise<{ cpuMs: number; wallMs: number }> {
  for (const url of urls) await read(url);
  const cpu: number[] = [];
  const wall: number[] = [];
  for (let round = 0; round < 5; round++) {
    const before = await cpuOf(pid);
    for (let i = 0; i < count; i++) {
      const started = performance.now();
      await read(urls[i % urls.length] as string);
      wall.push(performance.now() - started);
    }
    cpu.push(((await cpuOf(pid)) - before) / count);
  }
  return { cpuMs: median(cpu), wallMs: median(wall) };
}

function atMostTimes(times: number): Goal {
  return { text: `≤ ${times}×`, holds: ({ ratio }) => ratio !== null && ratio >= 1 / times };
}

const digest = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

export async function benchPages(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-bench-'));
  bench.note('results of 10 MB, 106 MB and 1 GB are stored');
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

async function againstPeers(bench: Bench, gateway: Gateway, folder: string): Promise<void> {
  const files = join(folder, 'files');
  await mkdir(files, { mode: 0o755 });
  const [port = 0] = await freePorts(1);
  const nginx = await startNginx(join(folder, 'nginx'), files, port);
  if (nginx === undefined) bench.note('nginx is not installed: its rows are left out (apt-get install nginx-light)');
  try {
    for (const [numRows, count, times] of [
      [10_000, 200, 1.2],
      [100, 1000, 2],
    ] as const) {
      const offset = 123_456;
      const url = page(gateway, ROWS, offset, numRows);
      const bytes = await read(url);
      const ours = await serve(gateway.pid, [url], count);
      const work = `a page of ${numRows} rows (${Math.round(bytes.length / 1024)} KB) from the file store`;
      const row = { work, unit: 'ms CPU', better: 'less', ours: ours.cpuMs } as const;
      if (nginx !== undefined) {
        await writeFile(join(files, `${numRows}.json`), bytes);
        const file = `${nginx.url}/${numRows}.json`;
        const theirs = await serve(nginx.pid, [file], count);
        const answers = [digest(bytes), digest(await read(file))] as const;
        bench.add({
          ...row,
          peer: 'nginx, a file of the same bytes',
          theirs: theirs.cpuMs,
          answers,
          goal: atMostTimes(times),
        });
      }
      const text = bytes.toString();
      const peer = await parseSliceStringify(offset, numRows);
      bench.add({
        ...row,
        peer: 'parse, slice, stringify',
        theirs: peer.cpuMs,
        // Not compared byte by byte: the peer rounds 9007199254740993, which is why it is no choice.
        answers: [(JSON.parse(text) as { resultTable: { rows: unknown[] } }).resultTable.rows.length, peer.rows],
        goal: atLeastTimes(25),
      });
    }
  } finally {
    await nginx?.stop();
  }
}

/** What the engine's own cursors do: the page's part of a result that is at hand, parsed and printed again (of the page alone: in its favour). */
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

/** The same page of a small and of a large result, at the front and at the back. */
async function flatness(bench: Bench, gateway: Gateway): Promise<void> {
  const [small, , large] = SIZES;
  const numRows = 10_000;
  const latency = async (size: number, offsets: readonly number[]): Promise<number> =>
    (
      await serve(
        gateway.pid,
        offsets.map((offset) => page(gateway, size, offset, numRows)),
        100,
      )
    ).wallMs;
  const early = [1234, 23_456, 34_567];
  const late = [9_600_001, 9_612_345, 9_654_321];
  const reference = await latency(small, early);
  const row = { unit: 'ms wall', better: 'less', peer: 'the same page of 10 MB', theirs: reference } as const;
  bench.add({
    ...row,
    work: 'a page of 10,000 rows of a result of 1 GB',
    ours: await latency(large, early),
    goal: atMostTimes(1.2),
  });
  bench.add({ ...row, work: 'the same at the end of 1 GB', ours: await latency(large, late), goal: atMostTimes(1.2) });
}
