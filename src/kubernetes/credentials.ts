import { createHash } from 'node:crypto';
import type { RequestOptions } from 'node:https';
import type { Cluster, DispatcherOptions, KubeConfig } from '@kubernetes/client-node';
import type { Clock } from '../platform/clock.ts';
import { checkTlsMaterial } from './tls-material.ts';

/** The part of KubeConfig that is used. */
export type KubernetesConfig = Pick<
  KubeConfig,
  | 'applyToHTTPSOptions'
  | 'createDispatcherOptions'
  | 'getContextObject'
  | 'getContexts'
  | 'getCurrentCluster'
  | 'getCurrentContext'
>;

/** The current address, headers and TLS options for the API server. */
export interface Credentials {
  /** Scheme, host, port and the path prefix of a proxy such as Rancher; no trailing slash. */
  readonly server: string;
  /** `authorization`, `impersonate-user`, …; never logged. */
  readonly headers: Readonly<Record<string, string>>;
  readonly connection: DispatcherOptions;
  /** Changes when new requests need new connections, because the TLS options have changed. */
  readonly fingerprint: string;
}

/** client-go uses the same time. The kubelet replaces a token long before it expires. */
const TIME_TO_LIVE_MS = 60_000;
/** Limits how often a credential plugin runs when the server responds to every request with 401. */
const MIN_RELOAD_INTERVAL_MS = 1000;
/** What a header may contain (RFC 9110, 5.5). */
const PRINTABLE = /^[\t\x20-\x7e\x80-\xff]*$/;

/**
 * The credentials of a KubeConfig, read again every minute: token files, certificate files, CA files, credential plugins.
 *
 * KubeConfig itself reads certificate and CA files at each call and token files once a minute, and runs a plugin when its token has
 * expired. reload() also drops what KubeConfig caches for longer, by loading the whole configuration again.
 */
export class CredentialSource {
  readonly #load: () => KubernetesConfig;
  readonly #clock: Clock;
  #config: KubernetesConfig;
  #loadedAt: number;
  #current: { readonly credentials: Promise<Credentials>; readonly until: number } | undefined;

  constructor(load: () => KubernetesConfig, clock: Clock) {
    this.#load = load;
    this.#clock = clock;
    this.#config = load();
    this.#loadedAt = clock.monotonic();
    clusterOf(this.#config); // reports a missing cluster at start, not at the first request
  }

  /** The namespace of the current context. */
  get namespace(): string | undefined {
    return this.#config.getContextObject(this.#config.getCurrentContext())?.namespace;
  }

  /** @throws {Error} when a file cannot be read or a plugin fails */
  async get(): Promise<Credentials> {
    const now = this.#clock.monotonic();
    if (this.#current !== undefined && now < this.#current.until) return this.#current.credentials;
    const credentials = readCredentials(this.#config);
    this.#current = { credentials, until: now + TIME_TO_LIVE_MS };
    // A failure is not cached: the next request tries again.
    credentials.catch(() => {
      if (this.#current?.credentials === credentials) this.#current = undefined;
    });
    return credentials;
  }

  /** Makes the next get() read the files again. */
  expire(): void {
    this.#current = undefined;
  }

  /** Loads the configuration again, after a 401 or a failed handshake. @returns false where the last reload was less than a second ago */
  reload(): boolean {
    const now = this.#clock.monotonic();
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
  checkTlsMaterial(tls);
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
  for (const [name, value] of Object.entries(headers))
    if (!PRINTABLE.test(value))
      throw new Error(`the value for the header \`${name}\` has characters that HTTP forbids`);
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
