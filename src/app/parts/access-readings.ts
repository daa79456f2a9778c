import { readFile } from 'node:fs/promises';
import { EnvHttpProxyAgent, fetch } from 'undici';
import type { AccessObjects } from '../../access/plan/policy-set.ts';
import type { SubjectType } from '../../resources/role-assignment.ts';
import { API_VERSION } from '../../resources/meta.ts';
import type { Statement } from '../../resources/policy.ts';
import { withoutCredentials } from '../../platform/credentials-in-text.ts';
import { errorMessage } from '../../platform/plain-error.ts';
import { fromApi, apiResource } from '../../kubernetes/objects.ts';
import { listAll } from '../../kubernetes/list.ts';
import { KubernetesTransport } from '../../kubernetes/transport.ts';
import type { CustomKind, CustomResourceByKind } from '../../resources/kinds.ts';
import { kubernetesConfiguration } from './kubernetes.ts';
import { VERSION } from './version.ts';

const REQUEST_TIMEOUT_MS = 30_000;
const PAGE_SIZE = 500;
const MAX_RESPONSE_BYTES = 64 * 1024 * 1024;
/** Requests at a time: a gateway limits those of a caller. */
const CONCURRENCY = 4;

/** A gateway and who reads it. */
export interface GatewayAddress {
  readonly url: string;
  /** Value of `Authorization`. */
  readonly authorization: string;
  readonly caFile: string | undefined;
}

/** The objects that determine access, as a gateway shows them to the caller. @throws {Error} which request failed */
export async function readGateway(address: GatewayAddress, signal: AbortSignal): Promise<AccessObjects> {
  const gateway = await Gateway.open(address, signal);
  try {
    const policies = await gateway.list<{ name: string; policyDocument: { statements: Statement[] } }>('policies');
    const roles = await gateway.list<{ name: string; srn: string }>('roles');
    const assignments = await gateway.list<GatewayAssignment>('assignments');
    const tokens = await gateway.list<GatewayToken>('service-tokens');
    const held = await inOrder(roles, ({ srn }) =>
      gateway.list<{ name: string }>(`roles/${encodeURIComponent(srn)}/policies`),
    );
    return {
      policies: policies.map(({ name, policyDocument: { statements } }) => custom('Policy', name, { statements })),
      roles: roles.map(({ name }, at) =>
        custom('Role', name, { policies: held[at]?.map((policy) => policy.name) ?? [] }),
      ),
      assignments: assignmentsByRole(assignments),
      tokens: tokens.map(tokenOf),
    };
  } finally {
    await gateway.close();
  }
}

interface GatewayAssignment {
  readonly role: string;
  readonly subject: string;
  readonly subjectType: SubjectType;
  readonly expiresAt?: string | null;
}

interface GatewayToken {
  readonly srn: string;
  readonly accessKey?: string;
  readonly expiresAt: string | null;
}

function tokenOf({ srn, accessKey, expiresAt }: GatewayToken) {
  const token = custom('ServiceToken', srn.slice(srn.indexOf('#') + 1), expiresAt === null ? {} : { expiresAt });
  return accessKey === undefined ? token : { ...token, status: { accessKey } };
}

function assignmentsByRole(assignments: readonly GatewayAssignment[]) {
  const byRole = Map.groupBy(assignments, ({ role }) => role);
  return [...byRole].map(([role, all]) => {
    const subjects = all.map(({ subject: name, subjectType: type, expiresAt }) => {
      return { type, name, ...(expiresAt ? { expiresAt } : {}) };
    });
    return custom('RoleAssignment', role, { role, subjects });
  });
}

function custom<K extends CustomKind>(kind: K, name: string, spec: object): CustomResourceByKind[K] {
  return { apiVersion: API_VERSION, kind, metadata: { name }, spec } as unknown as CustomResourceByKind[K];
}

async function inOrder<T, R>(items: readonly T[], work: (item: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  for (let at = 0; at < items.length; at += CONCURRENCY)
    results.push(...(await Promise.all(items.slice(at, at + CONCURRENCY).map(work))));
  return results;
}

class Gateway {
  readonly #address: GatewayAddress;
  readonly #agent: EnvHttpProxyAgent;
  readonly #signal: AbortSignal;

  private constructor(address: GatewayAddress, agent: EnvHttpProxyAgent, signal: AbortSignal) {
    this.#address = address;
    this.#agent = agent;
    this.#signal = signal;
  }

  static async open(address: GatewayAddress, signal: AbortSignal): Promise<Gateway> {
    const ca = address.caFile === undefined ? undefined : await readFile(address.caFile, 'utf8');
    const agent = new EnvHttpProxyAgent({
      maxResponseSize: MAX_RESPONSE_BYTES,
      ...(ca !== undefined && { connect: { ca }, requestTls: { ca } }),
    });
    return new Gateway(address, agent, signal);
  }

  close(): Promise<void> {
    return this.#agent.close();
  }

  /** All pages of a list. */
  async list<T>(path: string): Promise<T[]> {
    const items: T[] = [];
    let url: URL | undefined = this.#urlOf(`${path}?limit=${PAGE_SIZE}`);
    while (url !== undefined) {
      const { body, link } = await this.#get(url);
      if (!Array.isArray(body)) throw new Error(`${url.origin}${url.pathname}: the response is not a list`);
      items.push(...(body as T[]));
      const next = /<([^>]*)>; rel="next"/u.exec(link)?.[1];
      url = next === undefined ? undefined : this.#urlOf(`${path}${new URL(next, url).search}`);
    }
    return items;
  }

  /** The path is relative to the base URL, which may have a path itself. */
  #urlOf(path: string): URL {
    return new URL(path, this.#address.url.endsWith('/') ? this.#address.url : `${this.#address.url}/`);
  }

  async #get(url: URL): Promise<{ body: unknown; link: string }> {
    const where = `${url.origin}${url.pathname}`;
    try {
      const response = await fetch(url, {
        dispatcher: this.#agent,
        headers: { authorization: this.#address.authorization, accept: 'application/json' },
        redirect: 'error',
        signal: AbortSignal.any([this.#signal, AbortSignal.timeout(REQUEST_TIMEOUT_MS)]),
      });
      if (response.ok) return { body: await response.json(), link: response.headers.get('link') ?? '' };
      const detail = withoutCredentials((await response.text()).slice(0, MAX_DETAIL));
      throw new Error(`status ${response.status}: ${detail}`);
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      const reason = cause === undefined ? errorMessage(error) : errorMessage(cause);
      throw new Error(`cannot read ${where}: ${reason}`, { cause: error });
    }
  }
}

const MAX_DETAIL = 500;

/** The objects that determine access, in the cluster of a kubeconfig. @throws {Error} which list failed */
export async function readCluster(
  kubeconfig: string,
  namespace: string | undefined,
  signal: AbortSignal,
): Promise<AccessObjects> {
  const transport = new KubernetesTransport(await kubernetesConfiguration(kubeconfig), {
    userAgent: `olap-warden/${VERSION}`,
    ...(namespace !== undefined && { namespace }),
  });
  const list = async <K extends CustomKind>(kind: K): Promise<CustomResourceByKind[K][]> => {
    const resource = apiResource(kind, transport.namespace);
    const options = { pageSize: PAGE_SIZE, timeoutMs: REQUEST_TIMEOUT_MS, signal };
    const { items } = await listAll(transport, resource.path, { ...options, convert: (raw) => fromApi(raw, resource) });
    return items;
  };
  try {
    return {
      policies: await list('Policy'),
      roles: await list('Role'),
      assignments: await list('RoleAssignment'),
      tokens: await list('ServiceToken'),
    };
  } finally {
    await transport.close();
  }
}
