import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { Program } from './processes.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

const ROOT = join(import.meta.dirname, '../..');

export interface Listed {
  readonly requestId: string;
  readonly responseMetadata: readonly { readonly numRows: number }[];
}

/** The product as one process, with the token of its administrator. */
export class StandaloneGateway {
  readonly program: Program;
  readonly #dataDir: string;

  constructor(dataDir: string, flags: Readonly<Record<string, string | number>>, properties: readonly string[]) {
    const all = { port: 0, 'metrics-port': 0, 'data-dir': dataDir, ...flags };
    const args = Object.entries(all).map(([name, value]) => `--${name}=${value}`);
    const sets = properties.map((property) => `--set=${property}`);
    this.#dataDir = dataDir;
    this.program = new Program(process.execPath, ['bin/olap-warden.js', 'standalone', ...args, ...sets], {
      cwd: ROOT,
      env: { PATH: process.env['PATH'] },
    });
  }

  async call(path: string, body?: unknown): Promise<Response> {
    await this.program.printed('"msg":"started"', 30_000);
    const port = /"port":(\d+)/.exec(this.program.output)?.[1] ?? '';
    const token = (await readFile(join(this.#dataDir, 'admin-token'), 'utf8')).trim();
    return fetch(`http://127.0.0.1:${port}${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
  }

  async listed(): Promise<Listed[]> {
    const answer = await this.call('/query/resultStore');
    expect(answer.status).toBe(200);
    return ((await answer.json()) as { resultMetadataList: Listed[] }).resultMetadataList;
  }

  async kill(): Promise<void> {
    this.program.signalGroup('SIGKILL');
    await this.program.exited;
  }
}
