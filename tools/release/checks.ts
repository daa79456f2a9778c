import { accessSync, constants, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { releaseNotes, versionProblem } from './changelog.ts';
import { changedFiles, read, run } from './repository.ts';

const ARCHITECTURES = ['amd64', 'arm64'];

export interface ReleaseRequest {
  readonly version: string;
  /** Of the image, separated by commas. */
  readonly architectures: string;
  /** Path of an SSH private key, which signs the checksums. */
  readonly signingKey: string | undefined;
}

/**
 * Finds what would make the release fail, before anything is written.
 * @throws {Error} with all problems, if the release cannot be made from this state of the repository
 */
export function check(request: ReleaseRequest): void {
  const problems = [...versionProblems(request.version), ...repositoryProblems(), ...environmentProblems(request)];
  if (problems.length > 0) throw new Error(problems.join('\nerror: '));
}

function versionProblems(version: string): string[] {
  const current = (JSON.parse(read('package.json')) as { version: string }).version;
  const problem = versionProblem(version, current);
  if (problem !== undefined) return [problem];
  const problems: string[] = [];
  if (run('git', 'tag', '--list', `v${version}`) !== '') problems.push(`the tag v${version} exists already`);
  try {
    releaseNotes(read('CHANGELOG.md'), version);
  } catch (error) {
    problems.push((error as Error).message);
  }
  return problems;
}

function repositoryProblems(): string[] {
  const problems: string[] = [];
  if (changedFiles().length > 0)
    problems.push(
      'commit or remove your changes first: `git status`. If they are of a `make release` that was killed: `git restore --staged --worktree .`',
    );
  // A commit at the end of the release needs both.
  for (const key of ['user.name', 'user.email']) {
    const variable = `GIT_COMMITTER_${key === 'user.name' ? 'NAME' : 'EMAIL'}`;
    if (fails('git', 'config', key) && !process.env[variable])
      problems.push(`set your git identity: \`git config ${key} …\``);
  }
  return problems;
}

function environmentProblems({ architectures, signingKey }: ReleaseRequest): string[] {
  const problems = architectures
    .split(',')
    .filter((one) => !ARCHITECTURES.includes(one))
    .map((one) => `invalid ARCHITECTURES \`${one}\`: it must be ${ARCHITECTURES.join(' or ')}, or both with a comma`);
  if (fails('tar', '--version')) problems.push('the program `tar` is missing');
  return signingKey === undefined ? problems : [...problems, ...signingProblems(signingKey)];
}

/** Signs a file for a trial: the key may be a public one, or have a passphrase that nobody enters. */
function signingProblems(key: string): string[] {
  try {
    accessSync(key, constants.R_OK);
  } catch {
    return [`cannot read SIGNING_KEY \`${key}\``];
  }
  const folder = mkdtempSync(join(tmpdir(), 'olap-warden-release-'));
  try {
    const file = join(folder, 'trial');
    writeFileSync(file, 'trial');
    if (!fails('ssh-keygen', '-Y', 'sign', '-q', '-f', key, '-n', 'file', file)) return [];
    return [`SIGNING_KEY \`${key}\` cannot sign: it must be an SSH private key`];
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function fails(file: string, ...args: string[]): boolean {
  try {
    run(file, ...args);
    return false;
  } catch {
    return true;
  }
}
