// Builds the segments of the sample tables: `node tools/pinot/build-sample.ts FOLDER` writes FOLDER/<table>/<segment>.tar.gz.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { javaArguments } from './jvm.ts';
import { SAMPLE_TABLES, type SampleTable } from './sample-tables.ts';

function* lines(table: SampleTable, segment: number): Generator<string> {
  const first = segment * table.rowsPerSegment;
  const batch = 1_000;
  for (let from = 0; from < table.rowsPerSegment; from += batch) {
    const to = Math.min(from + batch, table.rowsPerSegment);
    let text = '';
    for (let i = from; i < to; i++) text += `${table.row(first + i)}\n`;
    yield text;
  }
}

async function writeJob(table: SampleTable, segment: number, work: string, folder: string): Promise<string> {
  const name = `${table.name}_${segment}`;
  const rows = join(work, `${name}.json`);
  await pipeline(lines(table, segment), createWriteStream(rows));
  const job = join(work, `${name}.job.json`);
  const output = join(folder, table.name, `${name}.tar.gz`);
  await writeFile(job, JSON.stringify({ schema: table.schema, config: table.config, rows, name, output }));
  return job;
}

async function build(folder: string, say: (message: string) => void): Promise<void> {
  const work = await mkdtemp(join(tmpdir(), 'olap-warden-sample-'));
  try {
    const java = await javaArguments({ mainClass: 'SegmentBuilder', heap: '1g', logFile: join(work, 'pinot.log') });
    for (const table of SAMPLE_TABLES) {
      await mkdir(join(folder, table.name), { recursive: true });
      const jobs: string[] = [];
      for (let i = 0; i < table.segments; i++) jobs.push(await writeJob(table, i, work, folder));
      say(`${table.name}: building ${table.segments * table.rowsPerSegment} rows in ${table.segments} segments`);
      const child = spawn('java', [...java, ...jobs], { stdio: ['ignore', 2, 2] });
      const [code] = (await once(child, 'exit')) as [number | null];
      if (code !== 0) throw new Error(`building the segments of \`${table.name}\` failed with exit code ${code}`);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

const folder = process.argv[2];
if (folder === undefined) throw new Error('usage: node tools/pinot/build-sample.ts FOLDER');
await build(resolve(folder), (message) => process.stderr.write(`${message}\n`));
