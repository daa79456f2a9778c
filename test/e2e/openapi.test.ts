import { access, mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { cacheFolder } from '../../tools/cache-folder.ts';
import { named, obstacle } from '../support/documents/obstacle.ts';
import { sharedPinot } from '../support/pinot.ts';
import { Program } from '../support/processes.ts';
import { startStandalone, type Standalone } from '../support/service.ts';
import { within } from '../support/until.ts';
import { TEST_LIMIT_MS, WAIT_LIMIT_MS } from '../support/limits.ts';
import { execute } from '../support/execute.ts';

const VERSION = '4.32.5';
const CACHE = join(cacheFolder(), `schemathesis-${VERSION}`);
const HOOKS = join(import.meta.dirname, 'schemathesis_hooks.py');
/** Its phases take minutes on a busy machine. */
const RUN_LIMIT_MS = TEST_LIMIT_MS - WAIT_LIMIT_MS;

async function works(file: string, ...args: string[]): Promise<boolean> {
  return execute(file, args).then(
    () => true,
    () => false,
  );
}

/** Path of schemathesis, installed from PyPI into the cache. */
async function install(): Promise<string> {
  const program = join(CACHE, 'bin/st');
  if (await works(program, '--version')) return program;
  await mkdir(CACHE, { recursive: true });
  await execute('python3', ['-m', 'venv', '--clear', CACHE]);
  await execute(join(CACHE, 'bin/pip'), ['install', '--quiet', `schemathesis==${VERSION}`], { timeout: 240_000 });
  await access(program);
  return program;
}

// The module `venv` is a separate package on some systems.
const NO_PYTHON = obstacle('python3', '-c', 'import venv, ensurepip');

describe.skipIf(NO_PYTHON)(named('a running gateway, tested from its own OpenAPI document', NO_PYTHON), () => {
  let schemathesis: string;
  let service: Standalone;

  beforeAll(async () => {
    schemathesis = await install();
    service = await startStandalone({
      controllers: (await sharedPinot()).controllerUrl,
      'max-failed-attempts': 1_000_000,
      'max-requests-per-second': 0,
    });
  });
  afterAll(() => service?.stop());

  /** Runs schemathesis with these options. @param seed of its random calls @returns its output */
  async function run(seed: number, ...options: string[]): Promise<string> {
    const config = ['--config-file', join(import.meta.dirname, 'schemathesis.toml')];
    const header = ['--header', `Authorization: Bearer ${service.token}`];
    const program = new Program(
      schemathesis,
      [
        ...config,
        'run',
        `${service.url}/openapi.json`,
        ...header,
        '--workers=1',
        `--seed=${seed}`,
        '--no-color',
        ...options,
      ],
      { cwd: service.dataDir, env: { ...process.env, SCHEMATHESIS_HOOKS: HOOKS } },
    );
    const code = await within('the end of schemathesis', program.ended, RUN_LIMIT_MS);
    expect(code, program.output).toBe(0);
    return program.output;
  }

  // Before the other calls, which take the names that this one would create.
  it('responds to sequences of calls along its links without an internal error', async () => {
    // Which links are followed depends on the random calls; without working links there are none.
    let most = 0;
    for (let seed = 1; seed <= 6 && most < 5; seed++) {
      const output = await run(seed, '--phases=stateful', '--max-examples=400');
      most = Math.max(most, Number(/API Links: +(\d+) covered/.exec(output)?.[1] ?? 0));
    }
    expect(most).toBeGreaterThanOrEqual(5);
  });

  it('never responds with an internal error, nor with a response that the document does not have', async () => {
    const output = await run(1, '--phases=examples,coverage,fuzzing', '--max-examples=25');
    // Each operation was called.
    expect(output).toMatch(/Operations: +(\d+) selected \/ \1 total/);
  });
});
