// Builds the dashboard's static files into web/dist: `node web/build.ts`. The output is not committed.
// A gateway may serve the folder meanwhile: each file is replaced at once, the page after its assets, and the old assets go last.
import { mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import { brotliCompress, gzip } from 'node:zlib';
import { build } from 'esbuild';

const here = import.meta.dirname;
const out = join(here, 'dist');
const assets = join(out, 'assets');

const result = await build({
  entryPoints: [join(here, 'src/main.tsx'), join(here, 'src/styles.css')],
  outdir: assets,
  write: false,
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
const plain: readonly (readonly [string, Uint8Array])[] = [
  ...result.outputFiles.map(({ path, contents }) => [basename(path), contents] as const),
  ['icon.svg', await readFile(join(here, 'icon.svg'))],
];
const files = new Map(plain);
// Precompressed, so that the gateway does not compress at each request.
for (const [name, content] of plain) {
  files.set(`${name}.br`, await promisify(brotliCompress)(content));
  files.set(`${name}.gz`, await promisify(gzip)(content));
}

await mkdir(assets, { recursive: true });
for (const [name, content] of files) await replace(join(assets, name), content);
const html = page
  .replace('@STYLE@', find(/^styles-.*\.css$/))
  .replace('@SCRIPT@', main)
  .replace('<!-- @PRELOADS@ -->', preloads.join('\n    '));
await replace(join(out, 'index.html'), html);
for (const name of await readdir(assets)) if (!files.has(name)) await rm(join(assets, name), { force: true });

async function replace(path: string, content: Uint8Array | string): Promise<void> {
  // Beside the folder, which may be copied meanwhile.
  const part = join(here, `dist.part-${process.pid}`);
  await writeFile(part, content);
  await rename(part, path);
}
