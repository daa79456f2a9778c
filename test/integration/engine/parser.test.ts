import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { tableNames, tablesOfSql } from '../../../src/access/sql-tables.ts';

// The engine's own parser is asked about the same texts: of what both take, ours must name every table that the engine's does.
const run = promisify(execFile);
const ROOT = join(import.meta.dirname, '../../..');

interface Group {
  readonly texts: readonly string[];
  readonly refused?: boolean;
}

let folder: string;
let classPath: string;

beforeAll(async () => {
  const { stdout } = await run(join(ROOT, 'tools/install.sh'), ['pinot'], { timeout: 600_000 });
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-oracle-'));
  classPath = `${folder}:${join(stdout.trim(), 'lib/*')}`;
  await run('javac', ['-cp', classPath, '-d', folder, join(import.meta.dirname, 'oracle/Oracle.java')]);
});

afterAll(() => rm(folder, { recursive: true, force: true }));

/** Tables of each text by the engine's parser; undefined where it refuses the text. */
async function engineTables(texts: readonly string[]): Promise<(string[] | undefined)[]> {
  const asked = run('java', ['-Xmx256m', '-XX:+UseSerialGC', '-cp', classPath, 'Oracle'], {
    maxBuffer: 64 * 1024 * 1024,
  });
  asked.child.stdin?.end(texts.map((text) => `${Buffer.from(text || ' ').toString('base64')}\n`).join(''));
  const { stdout } = await asked;
  const lines = stdout.trimEnd().split('\n');
  expect(lines).toHaveLength(texts.length);
  return lines.map((line) =>
    line.startsWith('E')
      ? undefined
      : line
          .split(' ')
          .slice(1)
          .map((name) => Buffer.from(name, 'base64').toString()),
  );
}

/** Texts that both take, and what is wrong with ours. */
async function compare(texts: readonly string[]): Promise<{ both: number; unsound: string[] }> {
  const theirs = await engineTables(texts);
  let both = 0;
  const unsound: string[] = [];
  for (const [index, text] of texts.entries()) {
    const [ours, engine] = [tablesOfSql(text), theirs[index]];
    if (!ours.ok || engine === undefined) continue;
    both++;
    const missing = engine.filter(
      (name) => !(tableNames(name, undefined) ?? [name]).every((raw) => ours.tables.includes(raw)),
    );
    if (missing.length > 0) unsound.push(`${JSON.stringify(text)} reads ${missing.join(', ')}`);
  }
  return { both, unsound };
}

const corpus = (parse(readFileSync(join(ROOT, 'test/unit/access/sql-tables/corpus.yaml'), 'utf8')) as Group[]).flatMap(
  ({ texts, refused = false }) => texts.map((text) => ({ text, refused })),
);

/** A repeatable source of numbers below 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) >>> 0;
    return state / 4_294_967_296;
  };
}

const BITS = [
  ...[
    '--',
    '-- \r',
    '-- x\n',
    '/* x */',
    '/***/',
    '/**/',
    '/*+ a */',
    '//',
    '\n',
    "'",
    "''",
    '"',
    "E'\\'",
    "N'x'",
    'a--b$c\n',
    'a-b$c',
  ],
  ...[
    ',',
    ';',
    '(',
    ')',
    '[',
    ']',
    '.',
    '*',
    '1e5',
    '1.',
    '::int',
    'left',
    'right',
    'natural',
    'qualify',
    'asof',
    'window',
    'stream',
    'value',
  ],
  ...[
    ' FROM secret ',
    ', secret',
    ' JOIN secret ON 1=1 ',
    ' JOIN (secret)',
    '(SELECT a FROM secret)',
    'TABLE secret',
    ' UNION SELECT 1 FROM secret',
  ],
  ...[
    'WITH a AS (SELECT * FROM secret) ',
    'WITH secret AS (SELECT 1) ',
    'LATERAL (SELECT * FROM secret)',
    ' cross apply secret ',
    'OPTION(a=b)',
  ],
  ...[
    'is distinct from',
    'extract(year from x)',
    'within group (order by a)',
    'filter (where a)',
    'over (order by a)',
    'fetch first 1 rows only',
  ],
  ...[
    ' select ',
    ' from ',
    ' where ',
    ' on ',
    ' using (a) ',
    ' order by ',
    ' group by ',
    ' having ',
    ' limit 1,2 ',
    ' as ',
    ' in ',
    ' collate x--a$b ',
  ],
];

function mutated(count: number, seed: number): string[] {
  const random = numbers(seed);
  const pick = <T>(list: readonly T[]): T => list[Math.floor(random() * list.length)]!;
  const texts = corpus.map(({ text }) => text);
  return Array.from({ length: count }, () => {
    let text = pick(texts);
    for (let change = 0; change <= random() * 2; change++) {
      const borders = [...text.matchAll(/\b|\s/g)].map((match) => match.index);
      const at = borders.length > 0 ? pick(borders) : 0;
      const cut = random() < 0.3 ? Math.floor(random() * 10) : 0;
      text = text.slice(0, at) + (random() < 0.8 ? pick(BITS) : pick(texts).slice(0, 40)) + text.slice(at + cut);
    }
    return text;
  });
}

describe('beside the engine’s own parser', () => {
  it('no text of the corpus hides a table', async () => {
    const { both, unsound } = await compare(corpus.map(({ text }) => text));
    expect(unsound).toEqual([]);
    expect(both).toBeGreaterThan(250);
  }, 120_000);

  it('nor do thousands of changed ones', async () => {
    const { both, unsound } = await compare(mutated(12_000, 20_261_121));
    expect(unsound).toEqual([]);
    expect(both).toBeGreaterThan(500);
  }, 300_000);
});
