import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const tools = join(import.meta.dirname, '..');

/**
 * The cache folder of a part of `tools/install.sh`. Installs the part if it is missing, with progress on stderr.
 * @param signal ends the installer and what it runs
 * @throws {Error} when the part cannot be installed; the installer has printed why
 */
export async function installed(part: string, signal?: AbortSignal): Promise<string> {
  signal?.throwIfAborted();
  // With a signal in a group of its own, which can be ended as a whole: without the installer, Maven would go on.
  const detached = signal !== undefined;
  const child = spawn(join(tools, 'install.sh'), [part], { stdio: ['ignore', 'pipe', 'pipe'], detached });
  child.stderr.pipe(process.stderr, { end: false });
  const end = (): void => endGroup(child.pid);
  signal?.addEventListener('abort', end);
  try {
    const [output, [code]] = await Promise.all([text(child.stdout), once(child, 'close') as Promise<[number | null]>]);
    if (code === 0) return output.trim();
  } finally {
    signal?.removeEventListener('abort', end);
  }
  signal?.throwIfAborted();
  // Its own message would repeat everything that the installer has printed.
  throw new Error(`the part \`${part}\` could not be installed: see the messages above`);
}

function endGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGTERM');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
  }
}

/** From Pinot's start script, for JDK 17. */
const OPENED = ['java.nio', 'sun.nio.ch', 'java.lang', 'java.util', 'java.lang.reflect', 'jdk.internal.misc'];

export interface JvmOptions {
  readonly mainClass: string;
  readonly heap: string;
  /** Path of Pinot's log. */
  readonly logFile: string;
}

/** The arguments of `java` to run a class of this folder with Pinot's class path. */
export async function javaArguments(options: JvmOptions, signal?: AbortSignal): Promise<string[]> {
  const pinot = await installed('pinot', signal);
  const classes = await installed('pinot-tools', signal);
  return [
    ...OPENED.map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
    // A machine without a locale would read and write other texts as ASCII.
    '-Dfile.encoding=UTF-8',
    // For a fast start and a small footprint.
    '-XX:+UseSerialGC',
    '-XX:TieredStopAtLevel=1',
    `-Xmx${options.heap}`,
    `-Dlog4j2.configurationFile=${join(import.meta.dirname, 'log4j2.xml')}`,
    `-Dpinot.log.file=${options.logFile}`,
    '-Dpinot.log.level=WARN',
    '-cp',
    `${classes}:${join(pinot, 'lib')}/*`,
    options.mainClass,
  ];
}
