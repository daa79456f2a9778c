#!/usr/bin/env node
// Plain JavaScript, so that every Node since 14 can run this check. The program itself is TypeScript, which requires Node 24.
const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  process.stderr.write(
    'olap-warden requires Node 24 or newer, but this is Node ' +
      process.version +
      '. Install it with `npm install --global node@24`, or use `make run`, which installs its own.\n',
  );
  process.exit(1);
}
void import('../src/main.ts');
