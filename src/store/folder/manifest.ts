import { LineCounter, parseAllDocuments, stringify } from 'yaml';
import { KINDS, type ResourceByKind, type ResourceKind } from '../../resources/kinds.ts';
import { API_VERSION, type ObjectMeta } from '../../resources/meta.ts';

export const MANIFEST_EXTENSIONS = ['.yaml', '.yml', '.json'] as const;

export function apiVersionOf(kind: ResourceKind): string {
  return kind === 'Secret' ? 'v1' : API_VERSION;
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
 * The part of an object that people write: what stands in its file. What a server sets (uid, versions, times, status) is left out, so that
 * a file is the same in Git, on another machine, and after `kubectl get -o yaml`.
 */
export function desiredOf<K extends ResourceKind>(object: ResourceByKind[K]): ResourceByKind[K] {
  const { name, namespace, labels, annotations, finalizers, ownerReferences } = object.metadata;
  const metadata = withoutEmpty({ name, namespace, labels, annotations, finalizers, ownerReferences });
  const people = without({ ...object }, ['status']);
  return { ...people, apiVersion: apiVersionOf(object.kind), metadata } as unknown as ResourceByKind[K];
}

export function printManifest(object: ResourceByKind[ResourceKind]): string {
  return stringify(desiredOf(object), { lineWidth: 0 });
}

/**
 * Reads the one object of a manifest file.
 *
 * A file holds one object, so that one file is one object's whole life: a change through the API rewrites it, a deletion removes it.
 *
 * @returns the object as it stands there, without what a server sets; its schema is not checked
 * @throws {Error} that says what is wrong, never with the file's content
 */
export function parseManifest(kind: ResourceKind, text: string): unknown {
  const value = parseOneDocument(text);
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new Error(`it holds no object: it must begin with \`apiVersion: ${apiVersionOf(kind)}\``);
  const { apiVersion, kind: found, metadata } = value as { apiVersion?: unknown; kind?: unknown; metadata?: unknown };
  if (apiVersion !== apiVersionOf(kind))
    throw new Error(`its \`apiVersion\` is \`${shown(apiVersion)}\`; it must be \`${apiVersionOf(kind)}\``);
  if (found !== kind)
    throw new Error(`its \`kind\` is \`${shown(found)}\`; files in \`${pluralOf(kind)}/\` must hold \`kind: ${kind}\``);
  const people = without({ ...value }, ['status']);
  return { ...people, metadata: isRecord(metadata) ? without(metadata, SERVER_FIELDS) : metadata };
}

function parseOneDocument(text: string): unknown {
  const lineCounter = new LineCounter();
  // prettyErrors would quote the source line, which may be of a Secret.
  const documents = parseAllDocuments(text, { lineCounter, prettyErrors: false });
  const [document] = documents;
  if (document === undefined || !('contents' in document)) throw new Error('it is empty');
  if (documents.length > 1)
    throw new Error(`it holds ${documents.length} objects (separated by \`---\`): put each into a file of its own`);
  const [error] = document.errors;
  if (error !== undefined) {
    const { line, col } = lineCounter.linePos(error.pos[0]);
    throw new Error(`it is not YAML: line ${line}, column ${col}: ${error.code}`);
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

/** Without what holds nothing: to a server it is the same as what is missing. */
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
