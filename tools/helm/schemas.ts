// Writes the JSON schemas that kubeconform uses for the chart, so that it requires no network:
//   kubectl get --raw /openapi/v2 | node tools/helm/schemas.ts
// One file contains the definitions of all kinds in the chart, without descriptions; one file per kind refers to it.
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

const OUT = join(import.meta.dirname, 'schemas');

/** Kubernetes' own kinds in the chart, with their apiVersion. */
const KINDS: Readonly<Record<string, string>> = {
  ClusterRole: 'rbac.authorization.k8s.io/v1',
  ClusterRoleBinding: 'rbac.authorization.k8s.io/v1',
  ConfigMap: 'v1',
  CustomResourceDefinition: 'apiextensions.k8s.io/v1',
  Deployment: 'apps/v1',
  Ingress: 'networking.k8s.io/v1',
  MutatingAdmissionPolicy: 'admissionregistration.k8s.io/v1',
  MutatingAdmissionPolicyBinding: 'admissionregistration.k8s.io/v1',
  NetworkPolicy: 'networking.k8s.io/v1',
  Pod: 'v1',
  PodDisruptionBudget: 'policy/v1',
  Role: 'rbac.authorization.k8s.io/v1',
  RoleBinding: 'rbac.authorization.k8s.io/v1',
  Service: 'v1',
  ServiceAccount: 'v1',
  StatefulSet: 'apps/v1',
  ValidatingAdmissionPolicy: 'admissionregistration.k8s.io/v1',
  ValidatingAdmissionPolicyBinding: 'admissionregistration.k8s.io/v1',
};

type Schema = Readonly<Record<string, unknown>>;
interface GroupVersionKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
}

/** Definitions that allow both strings and numbers, or any type despite `object`. */
const EXCEPTIONS: Readonly<Record<string, Schema>> = {
  'io.k8s.apimachinery.pkg.util.intstr.IntOrString': { type: ['string', 'integer'] },
  'io.k8s.apimachinery.pkg.api.resource.Quantity': { type: ['string', 'number'] },
  'io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.JSON': {},
};

/** Removes descriptions and rejects unknown properties. */
function trimmed(value: unknown, inProperties = false): unknown {
  if (Array.isArray(value)) return value.map((item) => trimmed(item));
  if (typeof value !== 'object' || value === null) return value;
  const kept = Object.entries(value).filter(
    ([key]) =>
      inProperties ||
      !(key === 'description' || key.startsWith('x-kubernetes-') || key === 'format' || key === 'default'),
  );
  const entries = kept.map(([key, item]) => [
    key,
    key === '$ref' && !inProperties ? item : trimmed(item, key === 'properties' && !inProperties),
  ]);
  const schema = Object.fromEntries(entries) as Record<string, unknown>;
  if (!inProperties && schema['properties'] !== undefined) schema['additionalProperties'] = false;
  return schema;
}

function reach(definitions: Readonly<Record<string, Schema>>, name: string, found: Map<string, Schema>): void {
  if (found.has(name)) return;
  const schema = EXCEPTIONS[name] ?? (trimmed(definitions[name]) as Schema);
  found.set(name, schema);
  for (const [, next = ''] of JSON.stringify(schema).matchAll(/"\$ref":"#\/definitions\/([^"]+)"/g)) {
    reach(definitions, next, found);
  }
}

const { definitions } = JSON.parse(await text(process.stdin)) as { definitions: Record<string, Schema> };
const found = new Map<string, Schema>();
const files = new Map<string, Schema>();
for (const [kind, apiVersion] of Object.entries(KINDS)) {
  const [version = '', group = ''] = apiVersion.split('/').toReversed();
  const [name] =
    Object.entries(definitions).find(([, schema]) =>
      (schema['x-kubernetes-group-version-kind'] as readonly GroupVersionKind[] | undefined)?.some(
        (one) => one.kind === kind && one.group === group && one.version === version,
      ),
    ) ?? [];
  if (name === undefined) throw new Error(`the API server does not know ${apiVersion} ${kind}`);
  reach(definitions, name, found);
  files.set(`${kind.toLowerCase()}.json`, { $ref: `definitions.json#/definitions/${name}` });
}
const sorted = Object.fromEntries([...found].toSorted(([a], [b]) => (a < b ? -1 : 1)));
files.set('definitions.json', { definitions: sorted });
await mkdir(OUT, { recursive: true });
for (const name of await readdir(OUT)) await rm(join(OUT, name));
for (const [name, schema] of files) await writeFile(join(OUT, name), `${JSON.stringify(schema, undefined, 1)}\n`);
