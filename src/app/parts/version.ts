import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { PROGRAM_FOLDER } from './program-folder.ts';

/** The version of the program, from its package.json. */
export const VERSION: string = (
  JSON.parse(readFileSync(join(PROGRAM_FOLDER, 'package.json'), 'utf8')) as { version: string }
).version;
