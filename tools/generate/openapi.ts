import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { standalone } from '../../src/app/standalone.ts';
import { startService } from '../../src/app/service.ts';
import type { GeneratedFiles } from './generator.ts';

let document: Promise<string> | undefined;

/** The OpenAPI document of a gateway with all of its interfaces, as formatted JSON. The gateway is started once. */
export function openApiDocument(): Promise<string> {
  return (document ??= readDocument());
}

/** Generates openapi.json. */
export async function generateOpenApi(): Promise<GeneratedFiles> {
  return new Map([['openapi.json', await openApiDocument()]]);
}

async function readDocument(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-openapi-'));
  try {
    // The gateway serves the dashboard's routes only when its folder has an index.html.
    await mkdir(join(folder, 'ui/assets'), { recursive: true });
    await writeFile(join(folder, 'ui/index.html'), '');
    const flags = {
      port: '0',
      'metrics-port': '0',
      'log-level': 'silent',
      'data-dir': join(folder, 'data'),
      'ui-folder': join(folder, 'ui'),
    };
    const service = await startService(standalone, {
      args: Object.entries(flags).map(([name, value]) => `--${name}=${value}`),
      env: {},
      stdout: () => undefined,
      stderr: () => undefined,
    });
    try {
      return `${JSON.stringify(await readJson(`http://${service.host}:${service.port}/openapi.json`), null, 2)}\n`;
    } finally {
      await service.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const ATTEMPTS = 20;
const PAUSE_MS = 500;

/** A gateway whose start has delayed the event loop refuses the first requests. */
async function readJson(url: string, attempts = ATTEMPTS): Promise<unknown> {
  const answer = await fetch(url);
  if (answer.status === 200) return answer.json();
  const problem = `${url}: ${answer.status} ${await answer.text()}`;
  if (answer.status !== 503 || attempts === 1) throw new Error(problem);
  await delay(PAUSE_MS);
  return readJson(url, attempts - 1);
}
