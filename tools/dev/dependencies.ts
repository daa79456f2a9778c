// Exits 0 when node_modules contains exactly the packages of package-lock.json, so that `npm ci` is not needed. Uses no packages itself.
import { readFileSync } from 'node:fs';

interface Locked {
  readonly version?: string;
  readonly integrity?: string;
  readonly optional?: boolean;
  readonly devOptional?: boolean;
}

function packages(file: string): Map<string, Locked> {
  const lock = JSON.parse(readFileSync(file, 'utf8')) as { packages: Record<string, Locked> };
  return new Map(Object.entries(lock.packages).filter(([path]) => path !== ''));
}

const locked = packages('package-lock.json');
const present = packages('node_modules/.package-lock.json');
const different = [...present].some(([path, { version, integrity }]) => {
  const wanted = locked.get(path);
  return wanted?.version !== version || wanted?.integrity !== integrity;
});
// Packages for other platforms are optional and absent.
const missing = [...locked].some(([path, { optional }]) => optional !== true && !present.has(path));
process.exitCode = different || missing ? 1 : 0;
