import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { access, constants, mkdir, statfs } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { UsageError, type Settings } from './run-settings.ts';

const PROGRAM_LIMIT_MS = 20_000;
const MIN_JAVA = 17;
const OWN_PINOT = 'or use your own Pinot, which needs none: `make run OLAP_CONTROLLER=http://HOST:9000`';
/** The sample and its logs take 200 MB; Pinot fails in unclear ways on a full disk. */
const SAMPLE_MB = 1_000;
/** Resources, tokens, logs and stored results. */
const OWN_MB = 100;

/**
 * Creates the data folder if it does not exist.
 * @throws {UsageError} if it cannot be used, or its disk has too little free space
 */
export async function requireFolder(folder: string, withSample: boolean): Promise<void> {
  const other = 'choose another folder, for example `make run DATA_DIR=/var/tmp/olap-warden`';
  let free: number;
  try {
    await mkdir(folder, { recursive: true });
    await access(folder, constants.W_OK);
    const { bavail, bsize } = await statfs(folder);
    free = Math.floor((bavail * bsize) / 1e6);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'EEXIST' || code === 'ENOTDIR' ? 'it, or a part of its path, is a file' : String(error);
    throw new UsageError(`\`${folder}\` (DATA_DIR) cannot be used as a folder: ${why}; ${other}`, { cause: error });
  }
  const needed = withSample ? SAMPLE_MB : OWN_MB;
  if (free >= needed) return;
  const who = withSample ? 'the sample cluster' : 'olap-warden';
  throw new UsageError(
    `${folder} has ${free} MB of free space, but ${who} needs ${needed.toLocaleString('en')} MB; free some, or ${other}`,
  );
}

/** What is wrong with the Java of this machine, by the output of `java -version`; undefined when it can run Pinot. */
export function javaProblem(output: string | undefined): string | undefined {
  const advice = `install a JDK ${MIN_JAVA} or newer, ${OWN_PINOT}`;
  if (output === undefined) return `the sample cluster needs Java, and \`java -version\` fails; ${advice}`;
  const [, first = '', second] = /version "(\d+)(?:\.(\d+))?/.exec(output) ?? [];
  // Java 8 calls itself 1.8. What no version can be read from is tried.
  const major = Number(first === '1' ? second : first);
  return first === '' || major >= MIN_JAVA
    ? undefined
    : `the sample cluster needs Java ${MIN_JAVA} or newer, and \`java\` is version ${major}; ${advice}`;
}

/** The output of a program; undefined when it is not installed or fails. */
async function outputOf(file: string, argument: string): Promise<string | undefined> {
  return promisify(execFile)(file, [argument], { timeout: PROGRAM_LIMIT_MS }).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => undefined,
  );
}

/** @throws {UsageError} if `java` cannot run the sample cluster */
async function requireJava(): Promise<void> {
  const problem = javaProblem(await outputOf('java', '-version'));
  if (problem !== undefined) throw new UsageError(problem);
}

/** The parts of the sample that are built with a program, which is needed only until they are. */
const BUILT_WITH = [
  { part: 'pinot', file: 'mvn', argument: '--version', program: 'Maven 3.8 or newer' },
  { part: 'pinot-tools', file: 'javac', argument: '-version', program: `a JDK ${MIN_JAVA} or newer` },
] as const;

async function isBuilt(part: string): Promise<boolean> {
  const installer = join(import.meta.dirname, '../install.sh');
  return promisify(execFile)(installer, ['--is-built', part], { timeout: PROGRAM_LIMIT_MS }).then(
    () => true,
    () => false,
  );
}

/** @throws {UsageError} if a part of the sample is not built, and the program to build it is not installed */
async function requireBuildTools(): Promise<void> {
  for (const { part, file, argument, program } of BUILT_WITH) {
    if ((await isBuilt(part)) || (await outputOf(file, argument)) !== undefined) continue;
    throw new UsageError(
      `the sample cluster is built with \`${file}\`, and \`${file} ${argument}\` fails; install ${program}, ${OWN_PINOT}`,
    );
  }
}

/** @throws {UsageError} if another program listens on the port, or this user may not */
export async function requireFree(name: 'PORT' | 'METRICS_PORT', port: number): Promise<void> {
  const server = createServer();
  try {
    await once(server.listen(port), 'listening');
    await once(server.close(), 'close');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === 'EADDRINUSE' ? 'is in use by another program' : code === 'EACCES' ? 'needs root' : String(error);
    // Ports below 1024 are for root, and after 65535 there is none.
    const other = port < 1_024 || port === 65_535 ? 10_000 + (port % 1_000) : port + 1;
    throw new UsageError(`port ${port} (${name}) ${why}; choose another, for example \`make run ${name}=${other}\``, {
      cause: error,
    });
  }
}

/**
 * Checks everything that `make run` needs and that its user can mend. Creates the data folder.
 * @throws {UsageError} with the first thing that is missing, and what to do
 */
export async function requireAll({ port, metricsPort, dataDir, controller }: Settings): Promise<void> {
  const withSample = controller === undefined;
  await requireFree('PORT', port);
  await requireFree('METRICS_PORT', metricsPort);
  await requireFolder(dataDir, withSample);
  if (!withSample) return;
  await requireJava();
  await requireBuildTools();
}
