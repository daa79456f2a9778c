import { existsSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';

/** The folder of the parts, where `tools/install.sh` has it: an empty variable counts as none, and a link is followed. */
export function cacheFolder(): string {
  const folder = join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'olap-warden');
  return existsSync(folder) ? realpathSync(folder) : folder;
}
