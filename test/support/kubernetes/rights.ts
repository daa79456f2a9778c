import { readFile } from 'node:fs/promises';
import { auditLogPath } from './programs.ts';

interface Rule {
  readonly apiGroups: string[];
  readonly resources: string[];
  readonly verbs: string[];
}

interface AuditEvent {
  readonly verb: string;
  readonly user: { readonly username: string };
  readonly objectRef?: { readonly apiGroup?: string; readonly resource: string; readonly subresource?: string };
  readonly responseStatus?: { readonly code: number };
}

/** The rights of service accounts in a namespace and their requests, each as `verb resource/subresource.group`, sorted. */
export class Rights {
  readonly #directory: string;
  readonly #namespace: string;
  readonly #kubectl: (args: readonly string[]) => Promise<{ readonly stdout: string }>;

  /** @param directory of an API server that writes an audit log */
  constructor(
    directory: string,
    namespace: string,
    kubectl: (args: readonly string[]) => Promise<{ readonly stdout: string }>,
  ) {
    this.#directory = directory;
    this.#namespace = namespace;
    this.#kubectl = kubectl;
  }

  /** By the Role of the account's own name in the namespace. */
  async granted(account: string): Promise<string[]> {
    const resource = 'roles.rbac.authorization.k8s.io';
    const { stdout } = await this.#kubectl(['-n', this.#namespace, 'get', resource, account, '-o', 'json']);
    const { rules } = JSON.parse(stdout) as { rules: Rule[] };
    const all = rules.flatMap(({ apiGroups, resources, verbs }) =>
      apiGroups.flatMap((group) => resources.flatMap((name) => verbs.map((verb) => `${verb} ${name}.${group}`))),
    );
    return Array.from(new Set(all)).sort();
  }

  async used(account: string): Promise<string[]> {
    return Array.from(new Set((await this.#events(account)).map(right))).sort();
  }

  /** Requests that the API server denied. */
  async refused(account: string): Promise<string[]> {
    const events = await this.#events(account);
    return events.filter(({ responseStatus }) => responseStatus?.code === 403).map(right);
  }

  async #events(account: string): Promise<AuditEvent[]> {
    const user = `system:serviceaccount:${this.#namespace}:${account}`;
    const lines = (await readFile(auditLogPath(this.#directory), 'utf8')).split('\n').filter(Boolean);
    return lines.map((line) => JSON.parse(line) as AuditEvent).filter(({ user: { username } }) => username === user);
  }
}

function right({ verb, objectRef }: AuditEvent): string {
  const { resource = '', subresource, apiGroup = '' } = objectRef ?? {};
  return `${verb} ${resource}${subresource ? `/${subresource}` : ''}.${apiGroup}`;
}
