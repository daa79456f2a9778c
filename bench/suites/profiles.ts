import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TEST_HEADERS } from '../../test/support/app.ts';
import { fileProperties } from '../../test/support/result-stores.ts';
import { judgeSql } from '../../src/access/sql/judge.ts';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';
import type { Bench } from '../frame/bench.ts';
import { seededRandom } from '../frame/measure.ts';
import { hotPathOf, profileHere } from '../frame/profile.ts';
import { sized } from '../frame/sizes.ts';
import { engineOf } from '../workloads/decision-engine.ts';
import { startGateway } from '../workloads/page-gateway-process.ts';
import { makeWorkload } from '../workloads/policies.ts';
import { runProgram } from '../workloads/program.ts';
import { load, startSide } from '../workloads/proxy-sides.ts';
import { keptEndpoint } from '../workloads/result.ts';
import { ordinaryTexts } from '../workloads/sql-corpus.ts';
import { openStore, storeOnce } from '../workloads/store-answer.ts';

const FOLDER = join(import.meta.dirname, '../../build/profiles');
const ROWS = sized({ quick: 50_000, normal: 500_000 });
const PAGES = sized({ quick: 300, normal: 6000 });
const LARGE_PAGES = sized({ quick: 30, normal: 2000 });
const DOWNLOADS = sized({ quick: 2, normal: 10 });
const PASSED = [
  { kilobytes: 10, count: sized({ quick: 300, normal: 30_000 }) },
  { kilobytes: 1024, count: sized({ quick: 30, normal: 2000 }) },
];
const TABLES = sized({ quick: 5, normal: 200 });
const SEGMENTS = 2000;

/** `fetch` asks for compression, which would be most of the profile. */
const HEADERS = { ...TEST_HEADERS, 'accept-encoding': 'identity' };

const fileOf = (name: string): string => join(FOLDER, `${name}.cpuprofile`);

/** CPU and heap profiles of the hot paths, in `build/profiles` for Chrome DevTools, and the functions with the largest parts. */
export async function run(bench: Bench): Promise<void> {
  bench.optionsOfImage();
  await mkdir(FOLDER, { recursive: true });
  await bench.part('profile of a decision', () => decision(bench));
  await bench.part('profile of the SQL check', () => sqlCheck(bench));
  await bench.part('profile of a submission', () => submission(bench));
  for (const { kilobytes, count } of PASSED) {
    await bench.part(`profile of a query that passes through, ${kilobytes} KB`, () => passed(bench, kilobytes, count));
  }
  await bench.part('profile of a page', () =>
    served(bench, 'A page of 100 rows', 'page', PAGES, 'offset=1234&numRows=100'),
  );
  await bench.part('profile of a large page', () =>
    served(bench, 'A page of 10000 rows', 'large-page', LARGE_PAGES, 'offset=1234&numRows=10000'),
  );
  await bench.part('profile of a download', () =>
    served(bench, 'A download as CSV', 'download', DOWNLOADS, 'format=csv'),
  );
  await bench.part('profile of a health run', () => snapshot(bench));
}

async function decision(bench: Bench): Promise<void> {
  const size = { roles: 1000, statementsPerRole: 10, principals: 500, questions: 100_000 };
  const workload = makeWorkload(size, seededRandom(1));
  const engine = engineOf(workload);
  const rounds = sized({ quick: 2, normal: 20 });
  const ask = (): void => {
    for (let round = 0; round < rounds; round++) {
      for (const { principal, action, resource } of workload.questions) {
        engine.isAllowed(workload.principals[principal]!, action, resource);
      }
    }
  };
  bench.profile(await profileHere('Decision', fileOf('decision'), rounds * size.questions, ask));
}

async function sqlCheck(bench: Bench): Promise<void> {
  const texts = ordinaryTexts(600, seededRandom(6));
  const rounds = sized({ quick: 3, normal: 60 });
  const check = (): void => {
    for (let round = 0; round < rounds; round++) for (const text of texts) judgeSql(text);
  };
  bench.profile(await profileHere('SQL check', fileOf('sql-check'), rounds * texts.length, check));
}

async function submission(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-profile-'));
  const store = await openStore(fileProperties(folder));
  try {
    const endpoint = keptEndpoint(ROWS);
    const query = { method: 'POST', path: '/query/sql', headers: {}, body: '{}' };
    const run = (): Promise<unknown> => storeOnce(endpoint, store, query);
    const work = `Submission of ${ROWS} rows, file store`;
    bench.profile(await profileHere(work, fileOf('submission'), 1, run));
  } finally {
    await store.close();
    await rm(folder, { recursive: true });
  }
}

/** The gateway between a client and an engine, each in a process of its own. */
async function passed(bench: Bench, kilobytes: number, count: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-profile-'));
  const engine = await startSide('engine');
  try {
    const gateway = await startSide('ours', engine.url, ['--cpu-prof', `--cpu-prof-dir=${folder}`]);
    try {
      await load(gateway, kilobytes, count);
    } finally {
      gateway.stop();
      await gateway.exited;
    }
    const work = `A query that passes through, ${kilobytes} KB, with the start of the process`;
    await keep(bench, work, `pass-through-${kilobytes}`, folder);
  } finally {
    engine.stop();
    await rm(folder, { recursive: true });
  }
}

/** Requests to a gateway in a separate process, so that the profile does not have the client. */
async function served(bench: Bench, work: string, name: string, count: number, query: string): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-profile-'));
  try {
    const gateway = await startGateway(folder, [ROWS], 'keep', ['--cpu-prof', `--cpu-prof-dir=${folder}`]);
    const url = `${gateway.url}/query/${gateway.ids.get(ROWS)}/results?${query}`;
    for (let request = 0; request < count; request++) {
      const response = await fetch(url, { headers: HEADERS, signal: AbortSignal.timeout(60_000) });
      await response.body?.pipeTo(new WritableStream());
      if (response.status !== 200) throw new Error(`${url} returned ${response.status}`);
    }
    gateway.stop();
    await gateway.exited;
    await keep(bench, `${work}, with the start of the process`, name, folder);
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function snapshot(bench: Bench): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-profile-'));
  const stub = runProgram('engine-stub.ts', [TABLES, SEGMENTS, 50].map(String));
  try {
    const options = [...NODE_OPTIONS, '--cpu-prof', `--cpu-prof-dir=${folder}`];
    const run = runProgram('health-run.ts', [await stub.line], options);
    await run.line;
    await run.exited;
    await keep(bench, `Two health runs, ${TABLES} tables × ${SEGMENTS} segments`, 'health-run', folder);
  } finally {
    stub.kill();
    await rm(folder, { recursive: true });
  }
}

/** Keeps the profile that a process wrote into the folder when it ended. */
async function keep(bench: Bench, work: string, name: string, folder: string): Promise<void> {
  const file = (await readdir(folder)).find((one) => one.endsWith('.cpuprofile'));
  if (file === undefined) throw new Error('the process wrote no profile');
  const text = await readFile(join(folder, file), 'utf8');
  await writeFile(fileOf(name), text);
  bench.profile(hotPathOf(work, text));
}
