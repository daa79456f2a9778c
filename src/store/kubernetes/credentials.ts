import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { Cluster, DispatcherOptions, KubeConfig } from '@kubernetes/client-node';
import type { StoreClock } from '../clock.ts';

/** A KubeConfig, as far as it is used here. */
export type KubernetesConfig = Pick<
  KubeConfig,
  | 'applyToHTTPSOptions'
  | 'createDispatcherOptions'
  | 'getContextObject'
  | 'getContexts'
  | 'getCurrentCluster'
  | 'getCurrentContext'
>;

/** How to talk to the API server right now. */
export interface Credentials {
  /** Scheme, host and port, with the path prefix of a proxy such as Rancher's, no trailing slash. */
  readonly server: string;
  /** `authorization`, `impersonate-user`, …; never logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly connection: DispatcherOptions;
  /** Changes exactly when a connection opened with older TLS material must not be used for new requests. */
  readonly fingerprint: string;
}

/** client-go reads a token file at most once a minute, too; the kubelet replaces one long before it ends. */
const TIME_TO_LIVE_MS = 60_000;
/** A server that answers 401 to everything must not make each request run a credential plugin. */
const MIN_RELOAD_INTERVAL_MS = 1000;

/**
 * The credentials of a KubeConfig, read again every minute: token files, certificate files, CA files, credential plugins.
 *
 * KubeConfig itself reads certificate and CA files at each call, token files once a minute, and runs a plugin when its token has
 * ended. What it holds in memory for longer is given up by reload(): the whole configuration is then loaded anew.
 */
export class CredentialSource {
  readonly #load: () => KubernetesConfig;
  readonly #clock: StoreClock;
  #config: KubernetesConfig;
  #loadedAt: number;
  #current: { readonly credentials: Promise<Credentials>; readonly until: number } | undefined;

  constructor(load: () => KubernetesConfig, clock: StoreClock) {
    this.#load = load;
    this.#clock = clock;
    this.#config = load();
    this.#loadedAt = clock.now();
    clusterOf(this.#config); // a configuration without a cluster is refused at start, not at the first request
  }

  /** The namespace of the current context. */
  get namespace(): string | undefined {
    return this.#config.getContextObject(this.#config.getCurrentContext())?.namespace;
  }

  /** @throws {Error} when a file cannot be read or a plugin fails */
  async get(): Promise<Credentials> {
    const now = this.#clock.now();
    if (this.#current !== undefined && now < this.#current.until) return this.#current.credentials;
    const credentials = readCredentials(this.#config);
    this.#current = { credentials, until: now + TIME_TO_LIVE_MS };
    // What failed is not kept: the next request tries again.
    credentials.catch(() => {
      if (this.#current?.credentials === credentials) this.#current = undefined;
    });
    return credentials;
  }

  /** The next get() reads the files again. */
  expire(): void {
    this.#current = undefined;
  }

  /** Forgets everything that was read, after a 401 or a failed handshake. Returns false if that was done a moment ago. */
  reload(): boolean {
    const now = this.#clock.now();
    if (now - this.#loadedAt < MIN_RELOAD_INTERVAL_MS) return false;
    this.#config = this.#load();
    this.#loadedAt = now;
    this.#current = undefined;
    return true;
  }
}

async function readCredentials(config: KubernetesConfig): Promise<Credentials> {
  const cluster = clusterOf(config);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  const { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername } = options;
  const tls = { ca, cert, key, passphrase, pfx, rejectUnauthorized, servername };
  const connection = config.createDispatcherOptions(cluster, tls);
  const hash = createHash('sha256');
  for (const part of [ca, cert, key, passphrase, pfx, rejectUnauthorized, servername, cluster.server, cluster.proxyUrl])
    hash.update(part instanceof Buffer ? part : (JSON.stringify(part) ?? '')).update('\0');
  return {
    server: cluster.server.replace(/\/+$/, ''),
    headers: headersOf(options),
    connection,
    fingerprint: hash.digest('hex'),
  };
}

function headersOf(options: RequestOptions): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries((options.headers ?? {}) as Record<string, string | undefined>))
    if (value !== undefined) headers[name.toLowerCase()] = value.trim(); // a token file may end with a newline
  if (typeof options.auth === 'string')
    headers['authorization'] = `Basic ${Buffer.from(options.auth).toString('base64')}`;
  return headers;
}

function clusterOf(config: KubernetesConfig): Cluster {
  const cluster = config.getCurrentCluster();
  if (cluster === null)
    throw new Error(
      `the kubeconfig's current context \`${config.getCurrentContext()}\` names no cluster: set \`current-context\` to one of ${
        config
          .getContexts()
          .map(({ name }) => `\`${name}\``)
          .join(', ') || 'its contexts (it has none)'
      }`,
    );
  return cluster;
}
