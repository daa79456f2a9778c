import { sleep, type Clock } from '../platform/clock.ts';
import { KINDS, type CustomKind } from '../resources/kinds.ts';
import { GROUP } from '../resources/meta.ts';
import { KubernetesApiError } from './api-error.ts';
import { listAll } from './list.ts';
import type { KubernetesTransport } from './transport.ts';

/**
 * How long each API server of a cluster may take to use a changed definition. An API server that waited for the others itself would wait
 * 5 seconds (`establishingController` of apiextensions-apiserver).
 */
export const SETTLE_MS = 15_000;
/** How often a kind is started again whose definition changes during its migration. */
const MAX_ATTEMPTS = 3;
/** Objects in a page of the list. */
const PAGE_SIZE = 500;
const LIST_TIMEOUT_MS = 60_000;
/** Rejected objects that are named in an error. */
const MAX_NAMED = 10;

interface Definition {
  readonly metadata: { readonly resourceVersion?: string };
  readonly spec: { readonly versions: readonly { readonly name: string; readonly storage: boolean }[] };
  readonly status?: { readonly storedVersions?: readonly string[] };
}

/** The versions in which etcd has the objects of a kind. */
export interface StoredVersions {
  /** Such as `roles.olapwarden.io`. */
  readonly definition: string;
  /** The version in which the API server stores objects that are written now. */
  readonly storage: string;
  /** All versions in which objects may be stored, by the definition's `status.storedVersions`. */
  readonly stored: readonly string[];
}

export interface MigratedKind extends StoredVersions {
  /** Objects of the kind; 0 if the definition said already that all have the storage version. */
  readonly objects: number;
}

interface ObjectName {
  readonly namespace: string;
  readonly name: string;
}

export interface MigrationOptions {
  readonly clock: Pick<Clock, 'schedule'>;
  readonly signal: AbortSignal;
  /** Milliseconds; default: `SETTLE_MS`. */
  readonly settleMs?: number;
}

/** Reads which versions the definition of a kind has. @throws {KubernetesApiError} not-found if the cluster has no definition of the kind */
export async function storedVersions(
  transport: Pick<KubernetesTransport, 'request'>,
  kind: CustomKind,
  signal: AbortSignal,
): Promise<StoredVersions> {
  return versionsOf(kind, await readDefinition(transport, kind, signal));
}

/**
 * Stores all objects of a kind, in all namespaces, in the storage version of its definition, and removes the other versions from
 * `status.storedVersions`. An object is written by an empty patch: the API server stores it again only if it is stored in another version,
 * and neither `spec`, `status`, authors nor `generation` change. It can be interrupted and repeated.
 * @throws {KubernetesApiError} invalid if the API server rejects objects; conflict if the definition keeps changing. `status.storedVersions` is
 *   unchanged in both cases.
 */
export async function migrateStorage(
  transport: Pick<KubernetesTransport, 'request'>,
  kind: CustomKind,
  options: MigrationOptions,
): Promise<MigratedKind> {
  const { clock, signal, settleMs = SETTLE_MS } = options;
  for (let attempt = 1; ; attempt++) {
    const definition = await readDefinition(transport, kind, signal);
    const versions = versionsOf(kind, definition);
    if (versions.stored.every((version) => version === versions.storage)) return { ...versions, objects: 0 };
    // Until then an API server could store an object in the version before.
    await sleep(clock, settleMs, signal);
    const objects = await rewriteAll(transport, kind, versions.storage, signal);
    try {
      await prune(transport, versions, definition.metadata.resourceVersion, signal);
      return { ...versions, objects };
    } catch (error) {
      const isChanged = error instanceof KubernetesApiError && error.code === 'conflict';
      if (!isChanged || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}

const pathOf = (kind: CustomKind): string =>
  `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definitionOf(kind)}`;

const definitionOf = (kind: CustomKind): string => `${KINDS[kind].plural}.${GROUP}`;

async function readDefinition(
  transport: Pick<KubernetesTransport, 'request'>,
  kind: CustomKind,
  signal: AbortSignal,
): Promise<Definition> {
  const { body } = await transport.request<Definition>('GET', pathOf(kind), { signal });
  return body;
}

function versionsOf(kind: CustomKind, { spec, status }: Definition): StoredVersions {
  const definition = definitionOf(kind);
  const storage = spec.versions.find((version) => version.storage)?.name;
  if (storage === undefined)
    throw new KubernetesApiError('invalid', `the definition \`${definition}\` has no storage version`);
  return { definition, storage, stored: status?.storedVersions ?? [] };
}

/** @returns the number of objects */
async function rewriteAll(
  transport: Pick<KubernetesTransport, 'request'>,
  kind: CustomKind,
  storage: string,
  signal: AbortSignal,
): Promise<number> {
  const { plural } = KINDS[kind];
  const group = `/apis/${GROUP}/${storage}`;
  const { items } = await listAll<ObjectName>(transport, `${group}/${plural}`, {
    pageSize: PAGE_SIZE,
    timeoutMs: LIST_TIMEOUT_MS,
    signal,
    // Objects without these fields do not exist; the rest of an object is not kept.
    convert: ({ metadata }) => ({ namespace: metadata?.namespace ?? '', name: metadata?.name ?? '' }),
  });
  const rejected: string[] = [];
  let written = 0;
  for (const { namespace, name } of items) {
    const path = `${group}/namespaces/${encodeURIComponent(namespace)}/${plural}/${encodeURIComponent(name)}`;
    try {
      await transport.request('PATCH', path, { body: {}, contentType: 'application/merge-patch+json', signal });
      written++;
    } catch (error) {
      if (!(error instanceof KubernetesApiError)) throw error;
      // Deleted since the list was read.
      if (error.code === 'not-found') continue;
      if (error.code !== 'invalid') throw error;
      rejected.push(`${namespace}/${name}: ${error.message}`);
    }
  }
  if (rejected.length > 0) throw rejectedObjects(kind, rejected);
  return written;
}

function rejectedObjects(kind: CustomKind, rejected: readonly string[]): KubernetesApiError {
  const named = rejected.slice(0, MAX_NAMED).join('\n  ');
  const more = rejected.length > MAX_NAMED ? `\n  and ${rejected.length - MAX_NAMED} more` : '';
  return new KubernetesApiError(
    'invalid',
    `${rejected.length} objects of \`${definitionOf(kind)}\` do not satisfy its schema; correct or delete them and start again:\n  ${named}${more}`,
  );
}

/** Says in the definition that all objects have the storage version. Fails with a conflict if the definition was changed since it was read. */
async function prune(
  transport: Pick<KubernetesTransport, 'request'>,
  { definition, storage }: StoredVersions,
  resourceVersion: string | undefined,
  signal: AbortSignal,
): Promise<void> {
  const path = `/apis/apiextensions.k8s.io/v1/customresourcedefinitions/${definition}/status`;
  await transport.request('PATCH', path, {
    body: { metadata: { resourceVersion }, status: { storedVersions: [storage] } },
    contentType: 'application/merge-patch+json',
    signal,
  });
}
