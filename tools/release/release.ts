// `make release VERSION=1.2.3`: sets the version, commits, tags, and writes all files of the release to build/release/1.2.3. Nothing is pushed.
//   SIGNING_KEY=FILE       an SSH private key, which signs the checksums (verify with `ssh-keygen -Y verify`)
//   ARCHITECTURES=amd64    of the image; default: amd64,arm64
import { createHash } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { releasedChangelog, unreleasedNotes, versionProblem } from './changelog.ts';

const root = resolve(import.meta.dirname, '../..');
const CHARTS = ['olap-warden', 'olap-warden-crds'];
const IMAGE = 'ghcr.io/olap-warden/olap-warden';

function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

function run(file: string, ...args: string[]): string {
  return execFileSync(file, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] }).trim();
}

const path = (file: string): string => join(root, file);
const read = (file: string): string => readFileSync(path(file), 'utf8');

function edit(file: string, change: (text: string) => string): void {
  writeFileSync(path(file), change(read(file)));
}

/** @throws {Error} if the release cannot be made from this state of the repository */
function check(version: string): void {
  const current = (JSON.parse(read('package.json')) as { version: string }).version;
  const problem = versionProblem(version, current);
  if (problem !== undefined) throw new Error(problem);
  if (run('git', 'status', '--porcelain') !== '') throw new Error('commit or remove your changes first: `git status`');
  if (run('git', 'tag', '--list', `v${version}`) !== '') throw new Error(`the tag v${version} exists already`);
  unreleasedNotes(read('CHANGELOG.md'));
}

/** Writes the version to all files that have it, and generates the others. */
function setVersion(version: string): void {
  run('npm', 'version', version, '--no-git-tag-version', '--allow-same-version', '--ignore-scripts');
  for (const chart of CHARTS) {
    edit(`charts/${chart}/Chart.yaml`, (text) => text.replaceAll(/^(version|appVersion): .*$/gm, `$1: ${version}`));
  }
  edit('CHANGELOG.md', (text) => releasedChangelog(text, version, new Date().toISOString().slice(0, 10)));
  run('make', '--silent', 'manifests');
}

/** A chart as an OCI artifact, which tools such as oras or skopeo copy to a registry. */
function chartArchive(folder: string, chart: string, version: string): void {
  const packed = join(folder, 'charts', `${chart}-${version}.tgz`);
  const work = join(folder, '.oci');
  mkdirSync(join(work, 'blobs/sha256'), { recursive: true });
  const blob = (mediaType: string, data: Buffer): object => {
    const hex = createHash('sha256').update(data).digest('hex');
    writeFileSync(join(work, 'blobs/sha256', hex), data);
    return { mediaType, digest: `sha256:${hex}`, size: data.length };
  };
  const text = (value: object): Buffer => Buffer.from(JSON.stringify(value));
  const helm = 'application/vnd.cncf.helm';
  const manifest = 'application/vnd.oci.image.manifest.v1+json';
  const image = {
    schemaVersion: 2,
    mediaType: manifest,
    config: blob(`${helm}.config.v1+json`, text({ name: chart, version, apiVersion: 'v2', type: 'application' })),
    layers: [blob(`${helm}.chart.content.v1.tar+gzip`, readFileSync(packed))],
  };
  const annotations = { 'org.opencontainers.image.ref.name': version };
  const index = { schemaVersion: 2, manifests: [{ ...blob(manifest, text(image)), annotations }] };
  writeFileSync(join(work, 'oci-layout'), '{"imageLayoutVersion":"1.0.0"}');
  writeFileSync(join(work, 'index.json'), JSON.stringify(index));
  const fixed = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
  run('tar', ...fixed, '-cf', packed.replace(/tgz$/, 'oci.tar'), '-C', work, 'oci-layout', 'index.json', 'blobs');
  rmSync(work, { recursive: true });
}

function writeFiles(folder: string, version: string, notes: string, architectures: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'charts'), { recursive: true });
  writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`);
  cpSync(path('manifests/install.yaml'), join(folder, 'install.yaml'));
  const definitions = readdirSync(path('crds')).filter((name) => name.endsWith('s.yaml'));
  writeFileSync(join(folder, 'crds.yaml'), definitions.map((name) => read(`crds/${name}`)).join('---\n'));
  say('the npm package');
  run('npm', 'pack', '--silent', '--pack-destination', folder);
  say('the charts');
  const helm = join(run('tools/install.sh', 'helm'), 'helm');
  for (const chart of CHARTS) {
    run(helm, 'package', path(`charts/${chart}`), '--destination', join(folder, 'charts'));
    chartArchive(folder, chart, version);
  }
  say('the list of components (CycloneDX)');
  writeFileSync(join(folder, 'sbom.cdx.json'), run('npm', 'sbom', '--omit=dev', '--sbom-format=cyclonedx'));
  say(`the image (${architectures})`);
  const archive = join(folder, `olap-warden-${version}-image.tar`);
  say(run(process.execPath, 'tools/image/oci-archive.ts', archive, `${IMAGE}:${version}`, architectures));
}

/** Writes SHA256SUMS, and its signature if there is a key. */
function sign(folder: string, key: string | undefined): void {
  const names = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1))
    .sort();
  const lines = names.map((name) => {
    const hex = createHash('sha256')
      .update(readFileSync(join(folder, name)))
      .digest('hex');
    return `${hex}  ${name}\n`;
  });
  const sums = join(folder, 'SHA256SUMS');
  writeFileSync(sums, lines.join(''));
  if (key === undefined) return say('the checksums are not signed: SIGNING_KEY is not set');
  run('ssh-keygen', '-Y', 'sign', '-q', '-f', key, '-n', 'file', sums);
}

function release(version: string): void {
  check(version);
  const notes = unreleasedNotes(read('CHANGELOG.md'));
  say(`version ${version}`);
  setVersion(version);
  const folder = path(`build/release/${version}`);
  writeFiles(folder, version, notes, process.env['ARCHITECTURES'] || 'amd64,arm64');
  sign(folder, process.env['SIGNING_KEY'] || undefined);
  run('git', 'commit', '--quiet', '--all', '--message', `Release ${version}`);
  run('git', 'tag', '--annotate', `v${version}`, '--message', `olap-warden ${version}\n\n${notes}`);
  say(`the files are in build/release/${version}; the commit and the tag v${version} are not pushed`);
}

try {
  release(process.argv[2] ?? '');
} catch (error) {
  say(`error: ${error instanceof Error ? error.message : String(error)}`);
  process.exitCode = 1;
}
