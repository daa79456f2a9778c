// Texts that do outside the dashboard what it shows: calls of the REST API, and manifests for kubectl.
import type { Assignment, HealthMute, Policy, PolicySummary, Role, ServiceToken } from './types.ts';
import { fingerprint } from './fingerprint.ts';
import { nameOf } from './format.ts';

export interface RestCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Path and query, beginning with `/`. */
  readonly path: string;
  readonly body?: unknown;
}

const quoted = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

/**
 * The call for a POSIX shell. It reads the token from the environment, so that no credential is copied.
 * @param origin such as `https://olap.example.com`
 */
export function curlOf({ method, path, body }: RestCall, origin: string): string {
  const parts = ['curl --fail-with-body --show-error --silent'];
  if (method !== 'GET') parts.push(`--request ${method}`);
  parts.push('--header "Authorization: Bearer $OLAP_WARDEN_TOKEN"');
  if (body !== undefined)
    parts.push("--header 'content-type: application/json'", `--data-raw ${quoted(JSON.stringify(body))}`);
  return `${[...parts, quoted(origin + path)].join(' \\\n  ')}\n`;
}

/** The call that runs a query and stores its result. */
export function queryCall(sql: string): RestCall {
  return { method: 'POST', path: '/query/sql?doPaginate=true', body: { sql } };
}

/** A resource for `kubectl apply`. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

function manifest(kind: string, name: string, spec: object): Manifest {
  return { apiVersion: 'olapwarden.io/v1beta1', kind, metadata: { name }, spec };
}

/** Manifests as one YAML file. Texts are quoted where YAML 1.1, which kubectl reads, would have another type: `no`, `1:30`. */
export async function yamlOf(manifests: readonly Manifest[]): Promise<string> {
  // Loaded when somebody copies a manifest.
  const { stringify } = await import('yaml');
  return manifests.map((one) => stringify(one, { version: '1.1', lineWidth: 0 })).join('---\n');
}

const ending = (expiresAt: string | null | undefined): { expiresAt?: string } =>
  expiresAt === undefined || expiresAt === null ? {} : { expiresAt };
const described = (description: string): { description?: string } => (description === '' ? {} : { description });

export function policyManifest({
  name,
  description,
  policyDocument,
}: Pick<Policy, 'name' | 'description' | 'policyDocument'>): Manifest {
  return manifest('Policy', name, { ...described(description), statements: policyDocument.statements });
}

export function roleManifest(
  { name, description }: Pick<Role, 'name' | 'description'>,
  policies: readonly Pick<PolicySummary, 'name'>[],
): Manifest {
  return manifest('Role', name, { ...described(description), policies: policies.map((policy) => policy.name) });
}

const ROLE_PART_LENGTH = 200;

/**
 * The subjects of a role. The name follows from the role and the subjects, so that `kubectl apply` replaces no other RoleAssignment, such as one
 * that is named after the role, and the same manifest twice is one object.
 */
export function assignmentManifest(
  role: string,
  assignments: readonly (Pick<Assignment, 'subject' | 'subjectType'> & {
    readonly expiresAt?: string | null | undefined;
  })[],
): Manifest {
  const subjects = assignments.map(({ subject, subjectType, expiresAt }) => ({
    type: subjectType,
    name: subject,
    ...ending(expiresAt),
  }));
  const who = subjects.map(({ type, name }) => `${type}:${name}`).toSorted();
  const name = `${role.slice(0, ROLE_PART_LENGTH).replace(/[-.]+$/, '')}-${fingerprint([role, ...who].join('\n'))}`;
  return manifest('RoleAssignment', name, { role, subjects });
}

/** The report of the cluster with all its mutes: `kubectl apply` replaces the whole list. */
export function mutesManifest(mutes: readonly HealthMute[]): Manifest {
  const list = mutes.map(({ id, check, entity, reason, author, until }) => ({
    id,
    ...(check === '*' ? {} : { check }),
    entity,
    reason,
    ...(author === undefined ? {} : { author }),
    until,
  }));
  return manifest('ClusterHealthReport', 'cluster', { mutes: list });
}

/** The manifest has no secret, which the operator generates for each ServiceToken. */
export function tokenManifest({ srn, description, expiresAt }: ServiceToken): Manifest {
  return manifest('ServiceToken', nameOf(srn), { ...described(description), ...ending(expiresAt) });
}
