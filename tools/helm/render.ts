import { spawn } from 'node:child_process';
import { text } from 'node:stream/consumers';
import { join, resolve } from 'node:path';
import { ADMISSION_APIS, REQUIRED, type Combination } from './combinations.ts';

const ROOT = resolve(import.meta.dirname, '../..');
export const CHART = join(ROOT, 'charts/olap-warden');
/** The chart of the custom resource definitions alone. */
export const CRDS_CHART = join(ROOT, 'charts/olap-warden-crds');

/** The folder of helm, kubeconform and helm-unittest. The first call on a machine builds them, which takes minutes. */
export async function helmTools(): Promise<string> {
  return (await output(join(ROOT, 'tools/install.sh'), ['helm'])).trim();
}

/**
 * Runs a program with `input` as its standard input.
 *
 * @returns its standard output
 * @throws {Error} with its whole output when it fails
 */
export async function output(file: string, args: readonly string[], input = ''): Promise<string> {
  const child = spawn(file, args, { cwd: ROOT });
  child.stdin.on('error', () => {}); // the program may exit before it has read everything; the exit code counts
  child.stdin.end(input);
  const closed = new Promise<number>((done, failed) => {
    child.once('error', failed);
    child.once('close', (code) => done(code ?? -1));
  });
  const [stdout, stderr, code] = await Promise.all([text(child.stdout), text(child.stderr), closed]);
  if (code !== 0) throw new Error(`${file} ${args.join(' ')} exited with ${code}:\n${stdout}${stderr}`);
  return stdout;
}

export interface Release {
  readonly name?: string;
  readonly namespace?: string;
  /** More flags of `helm template`. */
  readonly flags?: readonly string[];
}

/** The chart rendered with the values of a combination, as YAML. @throws {Error} when helm rejects them */
export async function render(helm: string, combination: Combination, release: Release = {}): Promise<string> {
  const values = JSON.stringify({ ...REQUIRED, ...combination.values });
  const apis = (combination.apis ?? ADMISSION_APIS).flatMap((api) => ['--api-versions', api]);
  const args = ['template', release.name ?? 'olap-warden', CHART, '--namespace', release.namespace ?? 'olap'];
  return output(helm, [...args, ...apis, ...(release.flags ?? []), '--values', '-'], values);
}
