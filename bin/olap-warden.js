#!/usr/bin/env node
// Plain JavaScript that any Node since 14 understands: the program itself is TypeScript, which Node runs from version 24 on.
const [major] = process.versions.node.split('.');
if (Number(major) < 24) {
  process.stderr.write(
    'olap-warden needs Node 24 or newer; this is ' +
      process.version +
      '. `npm install --global node@24` installs one, and `make run` brings its own.\n',
  );
  process.exit(1);
}
void import('../src/main.ts');
