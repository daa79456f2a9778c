import { LineCounter, parseAllDocuments, stringify } from 'yaml';
import { KINDS, type ResourceByKind, type ResourceKind } from '../../resources/kinds.ts';
import { API_VERSION, API_VERSIONS, type ObjectMeta } from '../../resources/meta.ts';

export const MANIFEST_EXTENSIONS = ['.yaml', '.yml', '.json'] as const;

/** The `apiVersion` of new files of a kind. */
function apiVersionOf(kind: ResourceKind): string {
  return kind === 'Secret' ? 'v1' : API_VERSION;
}

/** Values of `apiVersion` that files of a kind may have. */
function apiVersionsOf(kind: ResourceKind): readonly string[] {
  return kind === 'Secret' ? ['v1'] : API_VERSIONS;
}

function isApiVersion(kind: ResourceKind, value: unknown): boolean {
  return apiVersionsOf(kind).some((version) => version === value);
}

/** The folder of a kind. */
export function pluralOf(kind: ResourceKind): string {
  return kind === 'Secret' ? 'secrets' : KINDS[kind].plural;
}

/** Secrets are readable by their owner alone. */
export function fileModeOf(kind: ResourceKind): number {
  return kind === 'Secret' ? 0o600 : 0o644;
}

/**
 * The part of an object that users write, which is the content of its file. Fields that a server sets (uid, versions, times, status) are
 * omitted, so that the file is the same in Git, on another machine and after `kubectl get -o yaml`.
 */
export function desiredOf<K extends ResourceKind>(object: ResourceByKind[K]): ResourceByKind[K] {
  const { name, namespace, labels, annotations, finalizers, ownerReferences } = object.metadata;
  const metadata = withoutEmpty({ name, namespace, labels, annotations, finalizers, ownerReferences });
  const written = without({ ...object }, ['status']);
  // The version that the user chose stays.
  const apiVersion = isApiVersion(object.kind, object.apiVersion) ? object.apiVersion : apiVersionOf(object.kind);
  return { ...written, apiVersion, metadata } as unknown as ResourceByKind[K];
}

export function printManifest(object: ResourceByKind[ResourceKind]): string {
  return stringify(desiredOf(object), { lineWidth: 0 });
}

/**
 * Reads the object of a manifest file. A file holds exactly one object: a change through the API rewrites the file, a deletion removes it.
 *
 * @returns the object without the fields that a server sets; its schema is not checked
 * @throws {Error} says what is wrong, without the content of the file
 */
export function parseManifest(kind: ResourceKind, text: string): unknown {
  const value = parseOneDocument(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`not an object: the file must begin with \`apiVersion: ${apiVersionOf(kind)}\``);
  const { apiVersion, kind: found, metadata } = value as { apiVersion?: unknown; kind?: unknown; metadata?: unknown };
  if (!isApiVersion(kind, apiVersion)) {
    const valid = apiVersionsOf(kind).map((version) => `\`${version}\``);
    throw new Error(`invalid \`apiVersion\` \`${shown(apiVersion)}\`: it must be ${valid.join(' or ')}`);
  }
  if (found !== kind)
    throw new Error(
      `invalid \`kind\` \`${shown(found)}\`: files in \`${pluralOf(kind)}/\` must have \`kind: ${kind}\``,
    );
  const written = without({ ...value }, ['status']);
  return { ...written, metadata: isRecord(metadata) ? without(metadata, SERVER_FIELDS) : metadata };
}

function parseOneDocument(text: string): unknown {
  const lineCounter = new LineCounter();
  // prettyErrors would quote the source line, which may contain a secret. So would warnings, which the library prints to stderr.
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false, logLevel: 'error' });
  const [document] = documents;
  if (document === undefined || !('contents' in document)) throw new Error('the file is empty');
  if (documents.length > 1)
    throw new Error(`the file contains ${documents.length} objects (separated by \`---\`): put each into its own file`);
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new Error(`invalid YAML at line ${line}, column ${col}: ${error.code}`);
  }
  return document.toJS();
}

const SERVER_FIELDS: readonly (keyof ObjectMeta)[] = [
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'managedFields',
];

/** A copy without some of the fields. */
export function without(record: Readonly<Record<string, unknown>>, fields: readonly string[]): Record<string, unknown> {
  return Object.fromEntries(Object.entries(record).filter(([field]) => !fields.includes(field)));
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Removes empty fields: to a server they are the same as missing ones. */
function withoutEmpty(record: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(record).filter(([, value]) => {
      if (value === undefined || value === null) return false;
      return typeof value !== 'object' || Object.keys(value).length > 0;
    }),
  );
}

function shown(value: unknown): string {
  if (value === undefined) return 'missing';
  return typeof value === 'string' ? value.slice(0, 60) : typeof value;
}
