import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const ROOT = resolve(import.meta.dirname, '../..');
const LICENCE_FILE = /^(?:licen[cs]e|notice|copying)/i;
const RULE = '-'.repeat(80);

interface LockedPackage {
  readonly version: string;
  readonly license: string;
  /** `sha512-` and base64 */
  readonly integrity: string;
}

interface Shipped extends LockedPackage {
  readonly name: string;
  /** Its path in package-lock.json. */
  readonly path: string;
}

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

function lockedPackages(paths: readonly string[]): Shipped[] {
  const { packages } = JSON.parse(read('package-lock.json')) as { packages: Readonly<Record<string, LockedPackage>> };
  return paths.map((path) => {
    const locked = packages[path];
    if (locked === undefined) throw new Error(`package-lock.json has no \`${path}\`: run \`make deps\``);
    return { ...locked, path, name: path.slice(path.lastIndexOf('node_modules/') + 'node_modules/'.length) };
  });
}

/**
 * The list of components for scanners of vulnerabilities and licences. It has no time and no random number, so that the same sources give the same file.
 * @param paths of packages in package-lock.json
 * @returns CycloneDX 1.5 as JSON
 */
export function billOfMaterials(paths: readonly string[]): string {
  const { name, version, license } = JSON.parse(read('package.json')) as Shipped;
  const component = (one: Pick<Shipped, 'name' | 'version' | 'license'>) => {
    const purl = `pkg:npm/${one.name.replace('@', '%40')}@${one.version}`;
    // Expressions such as `(MIT OR Apache-2.0)` are no identifiers.
    const licence = /^[\w.+-]+$/.test(one.license) ? { license: { id: one.license } } : { expression: one.license };
    return { 'bom-ref': purl, name: one.name, version: one.version, purl, licenses: [licence] };
  };
  const components = lockedPackages(paths).map((one) => ({
    type: 'library',
    ...component(one),
    hashes: [{ alg: 'SHA-512', content: Buffer.from(one.integrity.slice('sha512-'.length), 'base64').toString('hex') }],
  }));
  // Two copies of the same version are one component.
  const unique = [...new Map(components.map((one) => [one.purl, one])).values()];
  const metadata = { component: { type: 'application', ...component({ name, version, license }) } };
  const bom = { bomFormat: 'CycloneDX', specVersion: '1.5', version: 1, metadata, components: unique };
  return `${JSON.stringify(bom, undefined, 2)}\n`;
}

/** Without a file of its own, a licence is the last chapter of the page of the package, or is only named. */
function licenceTexts(path: string): string[] {
  const names = readdirSync(join(ROOT, path)).sort();
  const text = (file: string): string => read(join(path, file)).replaceAll('\r\n', '\n').trim();
  const files = names.filter((name) => LICENCE_FILE.test(name));
  if (files.length > 0) return files.map(text);
  const page = names.find((name) => /^readme/i.test(name));
  const chapter = page === undefined ? undefined : /^#+ *licen[cs]e\s[^]*/im.exec(text(page))?.[0];
  return chapter === undefined ? [] : [chapter];
}

/** The licences of the packages with the texts that they require to be distributed. @param paths of packages in package-lock.json */
export function notices(paths: readonly string[]): string {
  const sections = lockedPackages(paths).map(({ name, version, license, path }) => {
    return [`${name} ${version} (${license})`, ...licenceTexts(path)].join('\n\n');
  });
  const start = 'olap-warden contains the packages below. Each is used under its own licence.';
  return [start, ...sections].join(`\n\n${RULE}\n`) + '\n';
}
