// Builds the dashboard's static files into web/dist: `node web/build.ts`. The output is not committed.
import { copyFile, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { build } from 'esbuild';

const here = import.meta.dirname;
const out = join(here, 'dist');

await rm(out, { recursive: true, force: true });
await mkdir(join(out, 'assets'), { recursive: true });
const result = await build({
  entryPoints: [join(here, 'src/main.tsx'), join(here, 'src/styles.css')],
  outdir: join(out, 'assets'),
  bundle: true,
  splitting: true,
  format: 'esm',
  target: 'es2022',
  minify: true,
  metafile: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  legalComments: 'none',
  tsconfig: join(here, 'tsconfig.json'),
});

const outputs = Object.keys(result.metafile.outputs).map((path) => basename(path));
const find = (pattern: RegExp): string => {
  const name = outputs.find((output) => pattern.test(output));
  if (name === undefined) throw new Error(`the build created no file that matches ${String(pattern)}`);
  return name;
};
const main = find(/^main-.*\.js$/);
// Without these links the browser would request the parts of the first load one after the other.
const preloads = Object.entries(result.metafile.outputs)
  .filter(([path]) => basename(path) === main)
  .flatMap(([, { imports }]) => imports)
  .filter(({ kind }) => kind === 'import-statement')
  .map(({ path }) => `<link rel="modulepreload" href="/ui/assets/${basename(path)}" />`);
const page = await readFile(join(here, 'index.html'), 'utf8');
await writeFile(
  join(out, 'index.html'),
  page
    .replace('@STYLE@', find(/^styles-.*\.css$/))
    .replace('@SCRIPT@', main)
    .replace('<!-- @PRELOADS@ -->', preloads.join('\n    ')),
);
await copyFile(join(here, 'icon.svg'), join(out, 'assets/icon.svg'));

// Precompressed, so that the gateway does not compress at each request.
for (const name of await readdir(join(out, 'assets'))) {
  const content = await readFile(join(out, 'assets', name));
  await writeFile(join(out, 'assets', `${name}.br`), await promisify(brotliCompress)(content));
  await writeFile(join(out, 'assets', `${name}.gz`), await promisify(gzip)(content));
}
