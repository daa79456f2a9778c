import { copyFile, mkdtemp, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { startStandalone, type Standalone } from '../../support/service.ts';
import { openApiPythonClient, openApiTypeScript, run } from './install.ts';

const HERE = import.meta.dirname;
const TIMEOUT_MS = 120_000;
/** What both programs report: they do the same. */
const REPORT = { description: 'second', conflict: 412, subjects: ['ada@example.com'], effects: ['allow'] };

/** Clients that generators make from the OpenAPI document of a running gateway, against that gateway. */
describe('a generated client', () => {
  let gateway: Standalone;
  let folder: string;
  let document: string;

  beforeAll(async () => {
    gateway = await startStandalone();
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-clients-'));
    document = join(folder, 'openapi.json');
    const answer = await gateway.call('GET', '/openapi.json');
    expect(answer.status).toBe(200);
    await writeFile(document, await answer.text());
  });
  afterAll(async () => {
    await gateway?.stop();
    await rm(folder, { recursive: true, force: true });
  });

  it('of openapi-typescript type-checks and works', async () => {
    const installed = await openApiTypeScript();
    await symlink(join(installed, 'node_modules'), join(folder, 'node_modules'));
    const cli = join(installed, 'node_modules/openapi-typescript/bin/cli.js');
    const node = (args: string[]) => run(process.execPath, args, { cwd: folder, timeout: TIMEOUT_MS });
    await node([cli, document, '--output', join(folder, 'schema.d.ts')]);
    await copyFile(join(HERE, 'typescript/access.ts.txt'), join(folder, 'access.mts'));
    const strict = ['--strict', '--target', 'es2024', '--lib', 'es2024,dom,dom.iterable', '--skipLibCheck'];
    const modules = ['--module', 'nodenext', '--moduleResolution', 'nodenext'];
    await writeFile(join(folder, 'globals.d.ts'), 'declare const process: any;\n');
    const tsc = join(folder, 'node_modules/typescript/bin/tsc');
    await node([tsc, ...strict, ...modules, '--outDir', folder, 'access.mts', 'globals.d.ts']);
    const { stdout } = await node([join(folder, 'access.mjs'), gateway.url, gateway.token, 'by-typescript']);
    expect(JSON.parse(stdout)).toEqual(REPORT);
  });

  it('of openapi-python-client works', async () => {
    const env = { ...process.env, PYTHONPATH: `${await openApiPythonClient()}:${folder}` };
    const config = join(folder, 'config.yaml');
    // The generator has no content type for parts of a download.
    const overrides = 'content_type_overrides: {application/x-ndjson: application/octet-stream}\n';
    await writeFile(config, `post_hooks: []\n${overrides}`);
    const generate = ['-m', 'openapi_python_client', 'generate', '--path', document, '--meta', 'none'];
    const output = ['--output-path', join(folder, 'olap_warden_client'), '--config', config, '--fail-on-warning'];
    await run('python3', [...generate, ...output], { env, timeout: TIMEOUT_MS });
    const program = join(HERE, 'python/access.py');
    const { stdout } = await run('python3', [program, gateway.url, gateway.token, 'by-python'], {
      env,
      timeout: TIMEOUT_MS,
    });
    expect(JSON.parse(stdout)).toEqual(REPORT);
  });
});
