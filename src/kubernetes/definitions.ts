import { CUSTOM_KINDS, KINDS, type CustomKind } from '../resources/kinds.ts';
import { GROUP, VERSION } from '../resources/meta.ts';
import { StoreError } from '../store/resource-store.ts';
import type { KubernetesTransport } from './transport.ts';

/** The part of a JSON schema that names fields. */
interface DefinitionSchema {
  readonly properties?: Readonly<Record<string, DefinitionSchema>>;
  readonly items?: DefinitionSchema;
}

interface OpenApi {
  readonly components?: { readonly schemas?: Readonly<Record<string, DefinitionSchema & Record<string, unknown>>> };
}

interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

const PATH = `/openapi/v3/apis/${GROUP}/${VERSION}`;
const TIMEOUT_MS = 15_000;

/**
 * Fields of this version that the definitions in the cluster do not have, by kind, such as `spec.suspend`. The API server drops these
 * fields from each write without an error. Every authenticated account may read the schemas by default.
 * @throws {KubernetesApiError}
 */
export async function missingFields(
  transport: Pick<KubernetesTransport, 'request'>,
  signal: AbortSignal,
): Promise<ReadonlyMap<CustomKind, readonly string[]>> {
  const served = Object.values((await schemas(transport, signal)).components?.schemas ?? {});
  return new Map(
    CUSTOM_KINDS.map((kind) => {
      const schema = served.find((candidate) => isOf(candidate, kind));
      const expected = {
        properties: { spec: KINDS[kind].spec as DefinitionSchema, status: KINDS[kind].status as DefinitionSchema },
      };
      return [kind, absent(expected, schema ?? {}, '')];
    }),
  );
}

/** @returns an empty document if the definitions do not have this version of the API at all */
async function schemas(transport: Pick<KubernetesTransport, 'request'>, signal: AbortSignal): Promise<OpenApi> {
  try {
    return (await transport.request<OpenApi>('GET', PATH, { signal, timeoutMs: TIMEOUT_MS })).body;
  } catch (error) {
    if (error instanceof StoreError && error.code === 'not-found') return {};
    throw error;
  }
}

function isOf(schema: Readonly<Record<string, unknown>>, kind: CustomKind): boolean {
  const kinds = (schema['x-kubernetes-group-version-kind'] ?? []) as readonly GroupVersionKind[];
  return kinds.some((candidate) => candidate.kind === kind && candidate.group === GROUP);
}

/** Paths in `expected` that `served` lacks, without those below a missing one. */
function absent(expected: DefinitionSchema, served: DefinitionSchema, path: string): string[] {
  const ofItems = expected.items === undefined ? [] : absent(expected.items, served.items ?? {}, `${path}[]`);
  const ofFields = Object.entries(expected.properties ?? {}).flatMap(([name, schema]) => {
    const field = path === '' ? name : `${path}.${name}`;
    const found = served.properties?.[name];
    return found === undefined ? [field] : absent(schema, found, field);
  });
  return [...ofItems, ...ofFields];
}
