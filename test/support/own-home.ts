import { execFileSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { homedir, tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { cacheFolder } from '../../tools/cache-folder.ts';

// Vitest's global set-up of all tests that run programs: kubectl, helm, npm, browsers and others write caches and settings to the home, which
// is an empty folder here. What a run leaves in the user's home is only what is meant to outlive it: the parts, and the caches of npm and Go.

const PARTS = '.cache/olap-warden';
/** Go has no variable for it. */
const GO_TELEMETRY = '.config/go/telemetry/';
/** Settings of the user that programs find elsewhere, if there are any. */
const SETTINGS = {
  npm_config_userconfig: '.npmrc',
  GIT_CONFIG_GLOBAL: '.gitconfig',
  PIP_CONFIG_FILE: '.config/pip/pip.conf',
  PYENV_ROOT: '.pyenv',
  RUSTUP_HOME: '.rustup',
  VOLTA_HOME: '.volta',
  ASDF_DATA_DIR: '.asdf',
  DOCKER_CONFIG: '.docker',
} as const;
/** Caches and data of programs, in the folder of the run, unless the user has settings for them. */
const OWN = {
  KUBECACHEDIR: 'kubectl',
  PIP_CACHE_DIR: 'pip',
  CLOUDSDK_CONFIG: 'gcloud',
  HELM_CACHE_HOME: 'helm/cache',
  HELM_CONFIG_HOME: 'helm/config',
  HELM_DATA_HOME: 'helm/data',
  RUSTUP_HOME: 'rustup',
} as const;

/** Where Go has its settings and caches; empty without Go. */
function goFolders(): Record<string, string> {
  try {
    const output = execFileSync('go', ['env', '-json', 'GOENV', 'GOPATH', 'GOMODCACHE', 'GOCACHE'], {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'ignore'],
    });
    return JSON.parse(output) as Record<string, string>;
  } catch {
    return {};
  }
}

/**
 * The variables for programs that must not write to the user's home.
 * @param folder of the run, which gets the home
 * @param parts the folder of the real parts, which the home links to
 */
export function ownHome(folder: string, parts = cacheFolder()): Record<string, string | undefined> {
  const user = homedir();
  const home = join(folder, 'home');
  mkdirSync(parts, { recursive: true });
  mkdirSync(join(home, '.cache'), { recursive: true });
  symlinkSync(parts, join(home, PARTS));
  const found = Object.entries(SETTINGS).filter(([, path]) => existsSync(join(user, path)));
  return {
    ...Object.fromEntries(Object.entries(OWN).map(([name, path]) => [name, join(folder, path)])),
    ...Object.fromEntries(found.map(([name, path]) => [name, process.env[name] ?? join(user, path)])),
    ...goFolders(),
    npm_config_cache: process.env['npm_config_cache'] ?? join(user, '.npm'),
    HOME: home,
    // Below HOME then.
    ...Object.fromEntries(['CACHE', 'CONFIG', 'DATA', 'STATE'].map((name) => [`XDG_${name}_HOME`, undefined])),
  };
}

/** The files in the home of a run that no program may write. */
export function writtenTo(folder: string): string[] {
  const home = join(folder, 'home');
  // `find` does not follow the link to the parts.
  const files = execFileSync('find', [home, '-not', '-type', 'd'], { encoding: 'utf8' }).split('\n').filter(Boolean);
  return files
    .map((file) => relative(home, file))
    .filter((path) => path !== PARTS && !path.startsWith(GO_TELEMETRY))
    .toSorted();
}

/** The projects of one run share the home. This module is loaded once for each of them, so the state is process-wide. */
const place = globalThis as typeof globalThis & { olapWardenHome?: { readonly folder: string; users: number } };

/** Gives the programs that this process starts from now on the home of a run. */
export function useOwnHome(folder: string): void {
  for (const [name, value] of Object.entries(ownHome(folder))) {
    if (value === undefined) delete process.env[name];
    else process.env[name] = value;
  }
}

function begin(): { readonly folder: string; users: number } {
  const folder = mkdtempSync(join(tmpdir(), 'olap-warden-home-'));
  useOwnHome(folder); // workers start later and inherit it
  return { folder, users: 0 };
}

export function setup(): () => void {
  const shared = (place.olapWardenHome ??= begin());
  shared.users++;
  return () => {
    shared.users--;
    if (shared.users > 0) return;
    delete place.olapWardenHome;
    const written = writtenTo(shared.folder);
    rmSync(shared.folder, { recursive: true, force: true });
    if (written.length === 0) return;
    throw new Error(
      `a program wrote to the home: give it a folder of its own (OWN in own-home.ts)\n${written.join('\n')}`,
    );
  };
}
