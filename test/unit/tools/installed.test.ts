import { spawnSync } from 'node:child_process';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

const JVM = join(resolve(import.meta.dirname, '../../..'), 'tools/pinot/jvm.ts');

it('a part that cannot be installed prints its message once', () => {
  const program = `const { installed } = await import(${JSON.stringify(JVM)});
    await installed('no-such-part').catch((error) => console.error('error: ' + error.message));`;
  const { stderr } = spawnSync(process.execPath, ['--input-type=module', '--eval', program], { encoding: 'utf8' });
  expect(stderr.match(/unknown part/g)).toHaveLength(1);
  expect(stderr).toMatch(/error: the part `no-such-part` could not be installed: see the messages above/);
});
