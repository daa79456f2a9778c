import { join, resolve } from 'node:path';
import { build as runBuild, type Metafile, type OutputFile, type Plugin } from 'esbuild';

const ROOT = resolve(import.meta.dirname, '../..');
/** Packages in CommonJS call `require` for modules of Node. Each file of the bundle may contain such a package. */
const REQUIRE =
  "import { createRequire as __createRequire } from 'node:module';\nconst require = __createRequire(import.meta.url);";

/**
 * `@kubernetes/client-node` does not declare that its modules have no side effects. Without this, the 15 MB of its classes for all kinds of Kubernetes would
 * be part of the program, which uses only its `KubeConfig`.
 */
const unusedClientModules: Plugin = {
  name: 'unused-client-modules',
  setup(build) {
    const client = /[\\/]@kubernetes[\\/]client-node[\\/]/;
    build.onResolve(
      { filter: /^@kubernetes\/client-node$|^\.\.?\/.*\.js$/ },
      async ({ path, importer, kind, resolveDir, pluginData }) => {
        if (pluginData === client || !(path === '@kubernetes/client-node' || client.test(importer))) return undefined;
        const found = await build.resolve(path, { importer, kind, resolveDir, pluginData: client });
        return client.test(found.path) ? { ...found, sideEffects: false } : found;
      },
    );
  },
};

export interface Bundle {
  readonly files: readonly OutputFile[];
  /** The packages with code in these files, by their paths in package-lock.json. */
  readonly packages: readonly string[];
}

/**
 * The program with its dependencies as JavaScript. What the sources import dynamically is a file of its own, loaded on use. Nothing is minified, so that stack
 * traces have the names of functions.
 * @param outdir where the files are to be written; this function does not write
 */
export async function bundle(outdir: string): Promise<Bundle> {
  const { outputFiles, metafile } = await runBuild({
    absWorkingDir: ROOT,
    entryPoints: [join(ROOT, 'src/main.ts')],
    outdir,
    write: false,
    bundle: true,
    splitting: true,
    format: 'esm',
    platform: 'node',
    target: 'node24',
    banner: { js: REQUIRE },
    charset: 'utf8',
    metafile: true,
    plugins: [unusedClientModules],
  });
  return { files: outputFiles, packages: packagesOf(metafile) };
}

function packagesOf({ outputs }: Metafile): string[] {
  const inputs = Object.values(outputs).flatMap((output) => Object.entries(output.inputs));
  const paths = inputs.flatMap(([path, { bytesInOutput }]) => {
    const [folder] = /node_modules\/(?:.*node_modules\/)?(?:@[^/]+\/)?[^/]+/.exec(path) ?? [];
    return folder === undefined || bytesInOutput === 0 ? [] : [folder];
  });
  return [...new Set(paths)].sort();
}
