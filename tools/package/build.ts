// The `prepack` step of `npm pack`: writes the JavaScript of `src` to `dist` and the dashboard to `web/dist`.
// The folders of `dist` have the depth of those in `src`, so that paths relative to a module stay valid.
import { execFileSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

rmSync(join(root, 'dist'), { recursive: true, force: true });
for (const [program, ...args] of [
  ['node_modules/typescript/bin/tsc', '--project', 'tools/package/tsconfig.json'],
  ['web/build.ts'],
]) {
  // npm prints the list of files and the name of the package on its standard output.
  execFileSync(process.execPath, [join(root, program!), ...args], { cwd: root, stdio: ['ignore', 2, 2] });
}
