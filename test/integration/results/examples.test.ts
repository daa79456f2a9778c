import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { named, NO_CURL, obstacle } from '../../support/documents/obstacle.ts';
import { sharedPinot } from '../../support/pinot.ts';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { javaClients } from '../clients/install.ts';
import { execute as run } from '../../support/execute.ts';

// Runs the examples of the documentation unchanged, with a gateway and a real Pinot.
const DOCUMENT = join(import.meta.dirname, '../../../docs/paginated-queries.md');
const ROWS = 100_000;

const NO_PYTHON = obstacle('python3', '-c', 'import requests');
const NO_JAVA = obstacle('javac', '-version');

/** The code block below a heading of the document. */
async function example(heading: string, language: string): Promise<string> {
  const text = await readFile(DOCUMENT, 'utf8');
  const section = text.split(`\n### ${heading}\n`)[1]?.split('\n### ')[0]?.split('\n## ')[0] ?? '';
  const [, code] = new RegExp(`\`\`\`${language}\\n(.*?)\\n\`\`\``, 's').exec(section) ?? [];
  if (code === undefined) throw new Error(`${DOCUMENT} has no example in ${language} below \`${heading}\``);
  return code;
}

let gateway: Standalone;
let folder: string;
let env: NodeJS.ProcessEnv;

beforeAll(async () => {
  const pinot = await sharedPinot();
  gateway = await startStandalone({ controllers: pinot.controllerUrl });
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-examples-'));
  env = { ...process.env, GATEWAY: gateway.url, TOKEN: gateway.token };
});
afterAll(async () => {
  await gateway?.stop();
  await rm(folder, { recursive: true, force: true });
});
beforeEach(async () => expect(await stored()).toBe(0));

async function stored(): Promise<number> {
  const answer = await gateway.call('GET', '/query/resultStore');
  return ((await answer.json()) as { resultMetadataList: unknown[] }).resultMetadataList.length;
}

/** Runs a program to its end. An error contains its output. */
async function output(command: string, args: readonly string[]): Promise<string> {
  const { stdout } = await run(command, args, { env, cwd: folder, timeout: 240_000, maxBuffer: 64 * 1024 * 1024 });
  return stdout;
}

describe('the gateway of the examples', () => {
  it('returns its actual port when port 0 is configured', async () => {
    const answer = await gateway.call('POST', '/query/sql?doPaginate=true', {
      sql: 'SELECT orderId FROM orders LIMIT 10',
    });
    const { requestId, brokerPort } = (await answer.json()) as { requestId: string; brokerPort: number };
    expect(`http://127.0.0.1:${brokerPort}`).toBe(gateway.url);
    const headers = { FORWARD_HOST: hostname(), FORWARD_PORT: String(brokerPort) };
    const page = await gateway.call('GET', `/query/${requestId}/results?offset=5`, undefined, headers);
    expect(await page.json()).toMatchObject({ offset: 5, numRows: 5, brokerPort });
    await gateway.call('DELETE', `/query/resultStore/${requestId}`, undefined, headers);
  });
});

describe('the examples of the documentation', () => {
  it.skipIf(NO_CURL)(named('curl', NO_CURL), async () => {
    await writeFile(join(folder, 'pages.sh'), await example('curl', 'sh'));
    const said = await output('sh', ['-eu', 'pages.sh']);
    expect(said).toMatch(/^Query Results for [0-9a-f-]+ deleted\.$/);
    const rows = (await readFile(join(folder, 'rows.json'), 'utf8')).trimEnd().split('\n');
    expect(rows).toHaveLength(ROWS);
    expect(rows.every((row) => /^\[\d{16,},.*\]$/.test(row))).toBe(true);
    expect(await stored()).toBe(0);
  });

  it.skipIf(NO_CURL)(named('curl, asynchronous', NO_CURL), async () => {
    await writeFile(join(folder, 'async.sh'), await example('curl, asynchronous', 'sh'));
    expect(await output('sh', ['-eu', 'async.sh'])).toMatch(/^Query Results for [0-9a-f-]+ deleted\.$/);
    const rows = (await readFile(join(folder, 'rows.jsonl'), 'utf8')).trimEnd().split('\n');
    expect(new Set(rows).size).toBe(ROWS);
    expect(rows.every((row) => /^\[\d{16,},.*\]$/.test(row))).toBe(true);
    expect(await stored()).toBe(0);
  });

  it.skipIf(NO_PYTHON)(named('Python, asynchronous', NO_PYTHON), async () => {
    await writeFile(join(folder, 'async.py'), await example('Python, asynchronous', 'python'));
    const lines = (await output('python3', ['async.py'])).trimEnd().split('\n');
    expect(lines).toHaveLength(ROWS / 10_000);
    expect(lines.every((line) => /^10000 \[\d{16,}, .*\]$/.test(line))).toBe(true);
    expect(new Set(lines).size).toBe(lines.length);
    expect(await stored()).toBe(0);
  });

  it.skipIf(NO_PYTHON)(named('Python', NO_PYTHON), async () => {
    await writeFile(join(folder, 'pages.py'), await example('Python', 'python'));
    const lines = (await output('python3', ['pages.py'])).trimEnd().split('\n');
    expect(lines).toHaveLength(ROWS / 1000);
    expect(lines.every((line) => /^1000 \[\d{16,}, .*\]$/.test(line))).toBe(true);
    expect(new Set(lines).size).toBe(lines.length);
    expect(await stored()).toBe(0);
  });

  it.skipIf(NO_JAVA)(named('Java', NO_JAVA), async () => {
    await writeFile(join(folder, 'Pages.java'), await example('Java', 'java'));
    const said = await output('java', ['-cp', await javaClients(), 'Pages.java']);
    // City names may contain line feeds.
    const ids = [...said.matchAll(/^(\d{16,}) /gmu)].map(([, id]) => id);
    expect(ids).toHaveLength(ROWS);
    // All rows differ: no page overlaps another, and no digit is lost.
    expect(new Set(ids).size).toBe(ROWS);
    expect(await stored()).toBe(0);
  });
});
