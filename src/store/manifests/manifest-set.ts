import { CUSTOM_KINDS, type CustomKind, type CustomResourceByKind } from '../../resources/kinds.ts';
import { API_VERSIONS, GROUP } from '../../resources/meta.ts';
import { nearest } from '../../resources/nearest.ts';
import { validateResource } from '../../resources/validate.ts';
import { without } from '../folder/manifest.ts';
import { lineOf, YamlError, type ObjectPath, type YamlDocument, type YamlReader } from './yaml-documents.ts';

/** A file with manifests. */
export interface ManifestText {
  /** As it is shown. */
  readonly path: string;
  readonly text: string;
}

/** Where an object is. */
export interface ManifestPlace {
  readonly path: string;
  /** From 1. */
  readonly line: number;
}

/** Manifests that cannot be read: one line for each problem. */
export class ManifestError extends Error {
  constructor(problems: readonly string[]) {
    const more = problems.length - MAX_PROBLEMS;
    super([...problems.slice(0, MAX_PROBLEMS), ...(more > 0 ? [`and ${more} more`] : [])].join('\n'));
    this.name = 'ManifestError';
  }
}

const MAX_PROBLEMS = 20;

interface Found {
  readonly object: CustomResourceByKind[CustomKind];
  readonly path: string;
  readonly document: YamlDocument;
  /** Of the object in its document: that of an item of a list. */
  readonly base: ObjectPath;
}

/** The custom resources of a set of files, by kind and name, with their places. */
export class ManifestSet {
  readonly #found: ReadonlyMap<string, Found>;
  /** How many objects of other kinds there are, by `<kind> (<apiVersion>)`. */
  readonly ignored: ReadonlyMap<string, number>;

  constructor(found: ReadonlyMap<string, Found>, ignored: ReadonlyMap<string, number>) {
    this.#found = found;
    this.ignored = ignored;
  }

  list<K extends CustomKind>(kind: K): CustomResourceByKind[K][] {
    const all = Iterator.from(this.#found.values()).map(({ object }) => object);
    return all.filter((object): object is CustomResourceByKind[K] => object.kind === kind).toArray();
  }

  /** Undefined if no file has the object. */
  placeOf(kind: string, name: string, path: ObjectPath = []): ManifestPlace | undefined {
    const found = this.#found.get(`${kind} ${name}`);
    return found && { path: found.path, line: lineOf(found.document, [...found.base, ...path]) };
  }
}

export interface ManifestOptions {
  /** Only the objects of this namespace, and those without one. Undefined: all, which must then be of one namespace. */
  readonly namespace?: string | undefined;
  /** Kinds of the group that are not custom resources and that are left out. */
  readonly otherKinds?: readonly string[];
}

/** @throws {ManifestError} every file, object and field that cannot be read, and what would be right */
export function readManifests(
  files: readonly ManifestText[],
  reader: YamlReader,
  options: ManifestOptions = {},
): ManifestSet {
  const reading = new Reading(options);
  for (const { path, text } of files) {
    try {
      for (const document of reader.documents(text)) reading.add(path, document);
    } catch (error) {
      if (!(error instanceof YamlError)) throw error;
      reading.problems.push(`${path}:${error.line}: ${error.message}`);
    }
  }
  return reading.finish();
}

class Reading {
  readonly problems: string[] = [];
  readonly #options: ManifestOptions;
  readonly #found = new Map<string, Found>();
  readonly #ignored = new Map<string, number>();
  readonly #namespaces = new Map<string, string>();

  constructor(options: ManifestOptions) {
    this.#options = options;
  }

  add(path: string, document: YamlDocument): void {
    const { value } = document;
    if (isRecord(value) && String(value['kind']).endsWith('List') && Array.isArray(value['items'])) {
      for (const [index, item] of value['items'].entries()) this.#addObject(item, path, document, ['items', index]);
    } else this.#addObject(value, path, document, []);
  }

  finish(): ManifestSet {
    if (this.#namespaces.size > 1) {
      const places = [...this.#namespaces].map(([namespace, place]) => `\`${namespace}\` (${place})`);
      this.problems.push(
        `the objects are of ${this.#namespaces.size} namespaces: ${places.slice(0, 3).join(', ')}: choose one with \`--namespace\``,
      );
    }
    if (this.problems.length > 0) throw new ManifestError(this.problems);
    return new ManifestSet(this.#found, this.#ignored);
  }

  #addObject(value: unknown, path: string, document: YamlDocument, base: ObjectPath): void {
    const report = (message: string, at: ObjectPath = []): void => {
      // Only the first ones are shown, and an object can have as many as its text has words.
      const isShown = this.problems.length < MAX_PROBLEMS;
      this.problems.push(isShown ? `${path}:${lineOf(document, [...base, ...at])}: ${message}` : message);
    };
    const { apiVersion, kind } = isRecord(value) ? value : {};
    if (!isRecord(value) || typeof apiVersion !== 'string' || typeof kind !== 'string') {
      report('not a manifest: it needs `apiVersion` and `kind`; name the folder that has only manifests');
      return;
    }
    if (!apiVersion.startsWith(`${GROUP}/`)) {
      const name = `${kind} (${apiVersion})`;
      this.#ignored.set(name, (this.#ignored.get(name) ?? 0) + 1);
      return;
    }
    if (this.#options.otherKinds?.includes(kind)) return;
    const known = CUSTOM_KINDS.find((custom) => custom === kind);
    if (known === undefined) {
      const meant = nearest(kind, CUSTOM_KINDS);
      report(
        `unknown kind \`${kind}\`; ${meant === undefined ? `the kinds are ${CUSTOM_KINDS.join(', ')}` : `did you mean \`${meant}\`?`}`,
        ['kind'],
      );
      return;
    }
    if (!API_VERSIONS.includes(apiVersion)) {
      report(`unknown version \`${apiVersion}\`; it must be ${API_VERSIONS.map((v) => `\`${v}\``).join(' or ')}`, [
        'apiVersion',
      ]);
      return;
    }
    this.#addResource(known, value, { path, document, base, report });
  }

  #addResource(
    kind: CustomKind,
    value: Record<string, unknown>,
    { report, ...where }: Omit<Found, 'object'> & { readonly report: (message: string, at?: ObjectPath) => void },
  ): void {
    const checked = validateResource(kind, without(value, ['status']));
    if (!checked.ok) {
      for (const { path, message } of checked.errors) report(`${path === '' ? kind : path}: ${message}`, partsOf(path));
      return;
    }
    const object = checked.value;
    const { name, namespace } = object.metadata;
    if (!this.#isWanted(namespace, where)) return;
    const other = this.#found.get(`${kind} ${name}`);
    if (other === undefined) this.#found.set(`${kind} ${name}`, { object, ...where });
    else {
      const place = `${other.path}:${lineOf(other.document, other.base)}`;
      report(`${kind} \`${name}\` is also in ${place}: an object has one manifest`);
    }
  }

  #isWanted(namespace: string | undefined, { path, document, base }: Omit<Found, 'object'>): boolean {
    if (namespace === undefined) return true;
    if (this.#options.namespace !== undefined) return namespace === this.#options.namespace;
    if (!this.#namespaces.has(namespace)) this.#namespaces.set(namespace, `${path}:${lineOf(document, base)}`);
    return true;
  }
}

/** `spec.statements[0].actions[1]` as a path. */
export function partsOf(path: string): ObjectPath {
  return [...path.matchAll(/\[(\d+)\]|[^.[\]]+/gu)].map(([text, index]) =>
    index === undefined ? text : Number(index),
  );
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
