import { createHash } from 'node:crypto';
import { access, mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cacheFolder } from '../../../tools/cache-folder.ts';
import { obstacle } from '../../support/documents/obstacle.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { execute } from '../../support/execute.ts';

export const run = execute;

const CACHE = cacheFolder();
const HERE = import.meta.dirname;

const PINOTDB = '9.2.2';
const SQLALCHEMY = '2.1.9';
const ZSTANDARD = '0.25.0';

/** For one installation of packages. */
const INSTALL_LIMIT_MS = 600_000;

/** Builds a folder of the cache once; an existing folder is complete. */
async function once(name: string, build: (folder: string) => Promise<void>): Promise<string> {
  const folder = join(CACHE, name);
  try {
    await access(folder);
    return folder;
  } catch {
    await mkdir(CACHE, { recursive: true });
  }
  process.stderr.write(`fetching ${name}, once, into ${CACHE}\n`);
  const part = `${folder}.part-${process.pid}`;
  await rm(part, { recursive: true, force: true });
  await build(part);
  await rename(part, folder);
  return folder;
}

/** A folder for PYTHONPATH with packages from PyPI. @param packages requirements with their versions */
async function pythonPackages(name: string, packages: readonly string[]): Promise<string> {
  // A virtual environment cannot be moved, so the packages are installed into a folder for PYTHONPATH.
  // Another version of Python cannot use the packages.
  const { stdout } = await run('python3', ['-c', 'import sys; print(sys.implementation.cache_tag)']);
  return once(`${name}-${stdout.trim()}`, async (folder) => {
    const venv = `${folder}-venv`;
    await run('python3', ['-m', 'venv', venv]);
    const install = ['install', '-q', '--no-cache-dir', '--target', folder, ...packages];
    await run(join(venv, 'bin/pip'), install, { timeout: INSTALL_LIMIT_MS });
    await rm(venv, { recursive: true, force: true });
  });
}

/** A folder for PYTHONPATH with pinotdb and SQLAlchemy. */
export function pythonWithPinotdb(): Promise<string> {
  return pythonPackages(`pinotdb-${PINOTDB}-${SQLALCHEMY}`, [`pinotdb==${PINOTDB}`, `sqlalchemy==${SQLALCHEMY}`]);
}

/** A folder for PYTHONPATH with a decoder of zstd, which Python has since 3.14. */
export function pythonWithZstandard(): Promise<string> {
  return pythonPackages(`zstandard-${ZSTANDARD}`, [`zstandard==${ZSTANDARD}`]);
}

/** Libraries of data frames, and what they need. */
const DATA_FRAMES = ['pandas==3.1.1', 'polars==2.1.0', 'duckdb==2.0.0', 'pyarrow==26.0.1', 'numpy==2.4.6'];

/** A folder for PYTHONPATH with pandas, polars, DuckDB and pyarrow: about 180 MB to download, 600 MB installed. */
export function pythonWithDataFrames(): Promise<string> {
  const pins = createHash('sha256').update(DATA_FRAMES.join(' ')).digest('hex').slice(0, 12);
  return pythonPackages(`data-frames-${pins}`, DATA_FRAMES);
}

/** What reads a file by its URL: fsspec for pyarrow, and DuckDB at the version for which its extension for HTTP is a package. */
const URL_READERS = ['fsspec==2026.9.0', 'aiohttp==3.14.5', 'duckdb==1.5.5', 'duckdb-extension-httpfs==1.5.5'];

/** PYTHONPATH with pyarrow, polars, fsspec, and DuckDB with its extension for HTTP: about 100 MB beside those of `pythonWithDataFrames`. */
export async function pythonWithUrlReaders(): Promise<string> {
  const pins = createHash('sha256').update(URL_READERS.join(' ')).digest('hex').slice(0, 12);
  return `${await pythonPackages(`url-readers-${pins}`, URL_READERS)}:${await pythonWithDataFrames()}`;
}

/** A folder for PYTHONPATH with Superset and pinotdb, at the versions of `superset/requirements.txt`: about 1 GB. */
export async function pythonWithSuperset(): Promise<string> {
  const requirements = join(HERE, 'superset/requirements.txt');
  const pins = createHash('sha256').update(await readFile(requirements));
  return pythonPackages(`superset-${pins.digest('hex').slice(0, 12)}`, ['-r', requirements]);
}

const OPENAPI_PYTHON_CLIENT = '0.29.1';

/** A folder for PYTHONPATH with openapi-python-client, and what the clients need that it generates. */
export function openApiPythonClient(): Promise<string> {
  const version = OPENAPI_PYTHON_CLIENT;
  return pythonPackages(`openapi-python-client-${version}`, [`openapi-python-client==${version}`]);
}

/** A folder with openapi-typescript, openapi-fetch and the version of TypeScript that they need, from npm. */
export async function openApiTypeScript(): Promise<string> {
  const pins = await readFile(join(HERE, 'typescript/package.json'), 'utf8');
  const hash = createHash('sha256').update(pins).digest('hex').slice(0, 12);
  return once(`openapi-typescript-${hash}`, async (folder) => {
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, 'package.json'), pins);
    await run('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', '--silent'], {
      cwd: folder,
      timeout: INSTALL_LIMIT_MS,
    });
  });
}

/** The class path of Pinot's Java and JDBC clients from Maven Central, with `Ask` compiled. */
export async function javaClients(): Promise<string> {
  const pins = createHash('sha256');
  for (const file of ['pom.xml', 'Ask.java']) pins.update(await readFile(join(HERE, 'java', file)));
  const folder = await once(`pinot-clients-${pins.digest('hex').slice(0, 12)}`, async (part) => {
    const maven = ['-q', '-B', '-f', join(HERE, 'java/pom.xml'), `-Dmaven.repo.local=${join(CACHE, 'maven')}`];
    await run('mvn', [...maven, 'dependency:copy-dependencies', `-DoutputDirectory=${join(part, 'lib')}`], {
      timeout: INSTALL_LIMIT_MS,
    });
    await run('javac', ['-encoding', 'UTF-8', '-cp', join(part, 'lib/*'), '-d', part, join(HERE, 'java/Ask.java')], {
      timeout: WAIT_LIMIT_MS,
    });
  });
  return `${folder}:${join(folder, 'lib/*')}`;
}

/** Why programs cannot be built with Go. */
export const NO_GO = obstacle('go', 'version');

/** The program in `go/`, built with Pinot's Go client. */
export function goClient(): Promise<string> {
  return goProgram(join(HERE, 'go'), 'pinot-client-go');
}

/**
 * Builds the program in a folder with go.mod, go.sum and main.go once. `go.sum` has the hashes of its modules.
 * @param name of the folder in the cache
 * @returns path of the program
 */
export async function goProgram(source: string, name: string): Promise<string> {
  const pins = createHash('sha256');
  for (const file of ['go.mod', 'go.sum', 'main.go']) pins.update(await readFile(join(source, file)));
  const folder = await once(`${name}-program-${pins.digest('hex').slice(0, 12)}`, async (part) => {
    await mkdir(part, { recursive: true });
    await run('go', ['build', '-o', join(part, 'program'), '.'], {
      cwd: source,
      env: { ...process.env, GOFLAGS: '-mod=readonly -buildvcs=false', GOTOOLCHAIN: 'local' },
      timeout: 600_000,
    });
  });
  return join(folder, 'program');
}
