import { createHash } from 'node:crypto';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { path, read, run, say } from './repository.ts';

/** The charts of a release. */
export const CHARTS = ['olap-warden', 'olap-warden-crds'];
const IMAGE = 'ghcr.io/olap-warden/olap-warden';

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

/**
 * Writes all files of the release but the checksums.
 * @param folder is replaced
 */
export function writeFiles(folder: string, version: string, notes: string, architectures: string): void {
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(join(folder, 'charts'), { recursive: true });
  writeFileSync(join(folder, 'NOTES.md'), `${notes}\n`);
  cpSync(path('manifests/install.yaml'), join(folder, 'install.yaml'));
  const definitions = readdirSync(path('crds')).filter((name) => name.endsWith('s.yaml'));
  writeFileSync(join(folder, 'crds.yaml'), definitions.map((name) => read(`crds/${name}`)).join('---\n'));
  say('the npm package');
  const program = path('build/package');
  run(process.execPath, 'tools/package/build.ts', program);
  run('npm', 'pack', '--silent', '--pack-destination', folder, program);
  say('the charts');
  const helm = join(run('tools/install.sh', 'helm'), 'helm');
  for (const chart of CHARTS) {
    run(helm, 'package', path(`charts/${chart}`), '--destination', join(folder, 'charts'));
    chartArchive(folder, chart, version);
  }
  say('the list of components (CycloneDX)');
  cpSync(join(program, 'sbom.cdx.json'), join(folder, 'sbom.cdx.json'));
  say(`the image (${architectures})`);
  const archive = join(folder, `olap-warden-${version}-image.tar`);
  say(run(process.execPath, 'tools/image/oci-archive.ts', archive, `${IMAGE}:${version}`, architectures));
}

/** Writes SHA256SUMS, and its signature if there is a key. */
export function sign(folder: string, key: string | undefined): void {
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
