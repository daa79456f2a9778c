import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { WAIT_LIMIT_MS } from './limits.ts';

const INSTALLER = join(import.meta.dirname, '../../tools/install.sh');

/** Version of the Pinot that `tools/install.sh` installs, such as `0.11.0`. */
export function installedVersion(): string {
  const version = /^pinot_version=([\d.]+)$/m.exec(readFileSync(INSTALLER, 'utf8'))?.[1];
  if (version === undefined) throw new Error(`${INSTALLER} has no \`pinot_version\``);
  return version;
}

/** Version of the shared Pinot, known before it is started. */
export async function sharedVersion(): Promise<string> {
  const foreign = process.env['TEST_CONTROLLER'];
  if (foreign === undefined) return installedVersion();
  const url = `${foreign.replace(/\/+$/, '')}/version`;
  const answer = await fetch(url, { signal: AbortSignal.timeout(WAIT_LIMIT_MS) });
  const versions = (await answer.json()) as Record<string, string>;
  const version = versions['pinot-controller'] ?? Object.values(versions)[0];
  if (version === undefined) throw new Error(`GET ${url} named no version`);
  return version.replace(/-.*$/, '');
}

/** Whether a version is in a range such as `>=1.0` or `<1.3`. @throws {Error} for another form of range */
export function inRange(version: string, range: string): boolean {
  const [, operator, limit = ''] = /^(>=|<)(\d+\.\d+)$/.exec(range) ?? [];
  if (operator === undefined) throw new Error(`\`${range}\` is not a range of versions such as \`>=1.0\` or \`<1.3\``);
  return operator === '<' ? order(version) < order(limit) : order(version) >= order(limit);
}

function order(version: string): number {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major * 1000 + minor;
}
