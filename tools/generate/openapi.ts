import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
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
      const answer = await fetch(`http://${service.host}:${service.port}/openapi.json`);
      return `${JSON.stringify(await answer.json(), null, 2)}\n`;
    } finally {
      await service.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
