import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { standalone } from '../../src/commands/standalone.ts';
import { startService } from '../../src/commands/wiring/service.ts';
import type { GeneratedFiles } from './generator.ts';

/** openapi.json: what a gateway with all of its interfaces says of itself. */
export async function generateOpenApi(): Promise<GeneratedFiles> {
  const folder = await mkdtemp(join(tmpdir(), 'olap-warden-openapi-'));
  try {
    // The dashboard's routes are there where a dashboard was built; any page will do.
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
      return new Map([['openapi.json', `${JSON.stringify(await answer.json(), null, 2)}\n`]]);
    } finally {
      await service.stop();
    }
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}
