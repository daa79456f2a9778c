// `make release VERSION=1.2.3`: sets the version, commits, tags, and writes all files of the release to build/release/1.2.3. Nothing is pushed.
// If a step fails, the files, the branch and the tags are as before.
//   SIGNING_KEY=FILE       an SSH private key, which signs the checksums (verify with `ssh-keygen -Y verify`)
//   ARCHITECTURES=amd64    of the image; default: amd64,arm64
import { rmSync } from 'node:fs';
import { check, type ReleaseRequest } from './checks.ts';
import { releasedChangelog, releaseNotes } from './changelog.ts';
import { CHARTS, sign, writeFiles } from './files.ts';
import { changedFiles, edit, path, read, restore, run, say } from './repository.ts';

/** Writes the version to all files that have it, and generates the others. */
function setVersion(version: string): void {
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts');
  for (const chart of CHARTS) {
    edit(`charts/${chart}/Chart.yaml`, (text) => text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`));
  }
  edit('manifests/sidecar/gateway-sidecar.yaml', (text) => text.replaceAll(/(?<=\/olap-warden:).*$/gm, version));
  edit('CHANGELOG.md', (text) => releasedChangelog(text, version, new Date().toISOString().slice(0, 10)));
  // Not `make manifests`, which installs the packages again, because the version in package-lock.json is another one.
  for (const tool of ['tools/generate.ts', 'tools/generate/install-manifest.ts']) run(process.execPath, tool);
}

/** @param changed receives the files that the release changes */
function release({ version, architectures, signingKey }: ReleaseRequest, folder: string, changed: string[]): void {
  const notes = releaseNotes(read('CHANGELOG.md'), version);
  say(`version ${version}`);
  try {
    setVersion(version);
  } finally {
    changed.push(...changedFiles());
  }
  writeFiles(folder, version, notes, architectures);
  sign(folder, signingKey);
  const others = changedFiles().filter((file) => !changed.includes(file));
  // The package and the image may contain them.
  if (others.length > 0) throw new Error(`files changed while the release was made: ${others.join(', ')}`);
  run('git', 'add', '--', ...changed);
  run('git', 'commit', '--quiet', '--message', `Release ${version}`, '--', ...changed);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `olap-warden ${version}\n\n${notes}`);
}

/** Makes the release, or leaves everything as it was. @throws {Error} */
function releaseOrUndo(request: ReleaseRequest): void {
  check(request);
  const folder = path(`build/release/${request.version}`);
  const before = run('git', 'rev-parse', 'HEAD');
  const changed: string[] = [];
  try {
    release(request, folder, changed);
  } catch (error) {
    try {
      restore(before, changed);
      rmSync(folder, { recursive: true, force: true });
      say('the release was not made; its changes are undone');
    } catch (undoing) {
      const files = changed.join(' ');
      say(`the changes of the release could not be undone: ${(undoing as Error).message}`);
      say(`undo them: git reset --soft ${before} && git restore --staged --worktree -- ${files}; rm -r ${folder}`);
    }
    throw error;
  }
  say(`the files are in build/release/${request.version}; the commit and the tag v${request.version} are not pushed`);
}

// With a listener, Ctrl-C ends the program that runs for the release, which then fails and is undone.
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => {});
try {
  releaseOrUndo({
    version: process.argv[2] ?? '',
    architectures: process.env['ARCHITECTURES'] || 'amd64,arm64',
    signingKey: process.env['SIGNING_KEY'] || undefined,
  });
} catch (error) {
  say(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
