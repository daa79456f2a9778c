#!/usr/bin/env node
// Plain JavaScript, so that every Node since 14 can run this check. The program itself requires Node 24.
import { existsSync } from 'node:fs';

const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  process.stderr.write(
    'olap-warden requires Node 24 or newer, but this is Node ' +
      process.version +
      '. Install it with `npm install --global node@24`, or use `make run`, which installs its own.\n',
  );
  process.exit(1);
}
// A clone has the TypeScript sources. The npm package has them as JavaScript: Node does not run TypeScript below node_modules.
const source = new URL('../src/main.ts', import.meta.url);
void import(existsSync(source) ? source.href : new URL('../dist/main.js', import.meta.url).href);
