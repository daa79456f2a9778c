// Writes the program as it is distributed, in the npm package and in the image:
//   node tools/package/build.ts FOLDER
// The folder is replaced. The dashboard must be built before.
import { cp, mkdir, rm, writeFile } from 'node:fs/promises';
import { existsSync, readFileSync } from 'node:fs';
import { basename, join, resolve } from 'node:path';
import { bundle } from './bundle.ts';
import { billOfMaterials, notices } from './shipped.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COPIED = ['LICENSE', 'README.md', 'bin', 'docs/checks', 'web/dist'];
/** The dependencies are part of the files in `dist`, so that nothing is installed with the package. */
const PACKAGE_FIELDS = ['name', 'version', 'description', 'license', 'bin', 'type', 'engines'];

/** @throws {Error} if the dashboard is not built */
export async function buildPackage(folder: string): Promise<void> {
  if (!existsSync(join(ROOT, 'web/dist/index.html'))) throw new Error('web/dist is not built: run `make web` first');
  await rm(folder, { recursive: true, force: true });
  const dist = join(folder, 'dist');
  await mkdir(dist, { recursive: true });
  const { files, packages } = await bundle(dist);
  await Promise.all(files.map(({ path, contents }) => writeFile(join(dist, basename(path)), contents)));
  for (const name of COPIED) await cp(join(ROOT, name), join(folder, name), { recursive: true });
  const description = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as Record<string, unknown>;
  const fields = Object.fromEntries(PACKAGE_FIELDS.map((name) => [name, description[name]]));
  await writeFile(join(folder, 'package.json'), `${JSON.stringify(fields, undefined, 2)}\n`);
  await writeFile(join(folder, 'THIRD-PARTY-NOTICES.txt'), notices(packages));
  await writeFile(join(folder, 'sbom.cdx.json'), billOfMaterials(packages));
}

if (import.meta.main) {
  const [folder] = process.argv.slice(2);
  if (folder === undefined) {
    process.stderr.write('usage: node tools/package/build.ts FOLDER\n');
    process.exitCode = 2;
  } else await buildPackage(resolve(folder));
}
