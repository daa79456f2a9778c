import { execFile } from 'node:child_process';
import { access, constants, mkdir, statfs } from 'node:fs/promises';
import { promisify } from 'node:util';

const JAVA_LIMIT_MS = 20_000;
const MIN_JAVA = 17;
/** The sample and its logs take 200 MB; Pinot fails in unclear ways on a full disk. */
const SAMPLE_MB = 1_000;
/** Resources, tokens, logs and stored results. */
const OWN_MB = 100;

/** Something that the user of `make run` can mend, printed without a stack. */
export class UsageError extends Error {}

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
  const advice = `install a JDK ${MIN_JAVA} or newer, or use your own Pinot, which needs none: \`make run OLAP_CONTROLLER=http://HOST:9000\``;
  if (output === undefined) return `the sample cluster needs Java, and \`java -version\` fails; ${advice}`;
  const [, first = '', second] = /version "(\d+)(?:\.(\d+))?/.exec(output) ?? [];
  // Java 8 calls itself 1.8. What no version can be read from is tried.
  const major = Number(first === '1' ? second : first);
  return first === '' || major >= MIN_JAVA
    ? undefined
    : `the sample cluster needs Java ${MIN_JAVA} or newer, and \`java\` is version ${major}; ${advice}`;
}

/** @throws {UsageError} if `java` cannot run the sample cluster */
export async function requireJava(): Promise<void> {
  const output = await promisify(execFile)('java', ['-version'], { timeout: JAVA_LIMIT_MS }).then(
    ({ stdout, stderr }) => stdout + stderr,
    () => undefined,
  );
  const problem = javaProblem(output);
  if (problem !== undefined) throw new UsageError(problem);
}
