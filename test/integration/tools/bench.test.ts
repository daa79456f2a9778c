import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { execute } from '../../support/execute.ts';
import { TEST_LIMIT_MS } from '../../support/limits.ts';

const ROOT = join(import.meta.dirname, '../../..');

describe('make bench', () => {
  it('measures a health run, whose stub has a response for each call', { timeout: 2 * TEST_LIMIT_MS }, async () => {
    const env = { ...process.env, ONLY: 'health', QUICK: '1' };
    const run = execute(process.execPath, ['bench/main.ts'], { cwd: ROOT, env, timeout: TEST_LIMIT_MS });
    // The exit code is that of a missed goal, too. Figures are not judged: other tests run beside this one.
    const { stdout } = await run.catch((error: { readonly stdout: string }) => error);

    expect(stdout).toMatch(/health run, .* goal /);
    expect(stdout).not.toMatch(/! \S+ failed:/);
  });
});
