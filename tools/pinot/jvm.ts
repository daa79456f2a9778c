import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const tools = join(import.meta.dirname, '..');

/**
 * The cache folder of a part that `tools/install.sh` knows; builds it first where it is missing, its progress on stderr.
 * @throws {Error} with what the installer said when the part cannot be had on this machine.
 */
export async function installed(part: string, signal?: AbortSignal): Promise<string> {
  const child = promisify(execFile)(join(tools, 'install.sh'), [part], signal ? { signal } : {});
  child.child.stderr?.pipe(process.stderr, { end: false });
  return (await child).stdout.trim();
}

/** Pinot's own start script opens these to run on a JDK 17. */
const OPENED = ['java.nio', 'sun.nio.ch', 'java.lang', 'java.util', 'java.lang.reflect', 'jdk.internal.misc'];

export interface JvmOptions {
  readonly mainClass: string;
  readonly heap: string;
  /** Where Pinot's own log goes. */
  readonly logFile: string;
}

/** The arguments with which `java` runs one of the classes beside this file on Pinot's class path. */
export async function javaArguments(options: JvmOptions, signal?: AbortSignal): Promise<string[]> {
  const pinot = await installed('pinot', signal);
  const classes = await installed('pinot-tools', signal);
  return [
    ...OPENED.map((name) => `--add-opens=java.base/${name}=ALL-UNNAMED`),
    // Quick to start and small, which is what tests and a sample need.
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
