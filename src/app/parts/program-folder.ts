import { findPackageJSON } from 'node:module';
import { dirname } from 'node:path';

/**
 * The folder of the program's package.json, of `web/dist` and of `docs/checks`. It is searched from this module upwards: the build joins modules, so that
 * their depth below the folder is another one than in the sources.
 */
export const PROGRAM_FOLDER: string = folderOf(findPackageJSON(import.meta.url));

function folderOf(file: string | undefined): string {
  if (file === undefined) throw new Error(`no package.json in the folders above \`${import.meta.dirname}\``);
  return dirname(file);
}
