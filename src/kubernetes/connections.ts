import { EnvHttpProxyAgent, ProxyAgent, Socks5ProxyAgent, type buildConnector, type Dispatcher } from 'undici';
import type { Credentials } from './credentials.ts';

/** Six watches and bursts of writes. Further requests wait for a free connection. */
const MAX_CONNECTIONS = 32;

const POOL = {
  connections: MAX_CONNECTIONS,
  // Streams of one HTTP/2 connection share its failures and its flow control: one stalled reader would delay all others.
  allowH2: false,
  pipelining: 1,
  connectTimeout: 5_000,
  keepAliveTimeout: 30_000,
  // KubernetesTransport sets a time-out for each request.
  headersTimeout: 0,
  bodyTimeout: 0,
} as const;

/** The kernel closes a connection whose peer does not respond to ten probes, one each second, after this idle time. */
const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelay: 10_000 } as const;

/**
 * One connection pool for the current TLS options. After a change (of a client certificate or a CA), new requests use a new pool; the old
 * one is closed after its last request.
 */
export class ApiConnections {
  #current: { readonly fingerprint: string; readonly dispatcher: Dispatcher } | undefined;
  readonly #retired = new Set<Dispatcher>();
  #closed = false;

  get(credentials: Credentials): Dispatcher {
    if (this.#closed) throw new Error('the transport to the Kubernetes API is closed');
    if (this.#current?.fingerprint === credentials.fingerprint) return this.#current.dispatcher;
    if (this.#current !== undefined) this.#retire(this.#current.dispatcher);
    const dispatcher = open(credentials.connection);
    this.#current = { fingerprint: credentials.fingerprint, dispatcher };
    return dispatcher;
  }

  /** Destroys all connections, including those in use. */
  async close(): Promise<void> {
    this.#closed = true;
    const all = [...this.#retired];
    if (this.#current !== undefined) all.push(this.#current.dispatcher);
    this.#current = undefined;
    await Promise.all(all.map(async (dispatcher) => dispatcher.destroy()));
  }

  #retire(dispatcher: Dispatcher): void {
    this.#retired.add(dispatcher);
    const forget = () => this.#retired.delete(dispatcher);
    dispatcher.close().then(forget, forget); // rejects only when close() has destroyed it
  }
}

function open(connection: Credentials['connection']): Dispatcher {
  switch (connection.type) {
    case 'proxy':
      return new ProxyAgent({ ...POOL, uri: connection.uri, requestTls: tlsOf(connection.requestTls) });
    case 'socks':
      return new Socks5ProxyAgent(connection.uri, { ...POOL, requestTls: tlsOf(connection.requestTls) });
    case 'agent':
      return direct(tlsOf(connection.connect));
    case 'none':
      return direct(KEEP_ALIVE);
  }
}

/** Without a proxy in the kubeconfig; as for kubectl, those of the environment apply. */
function direct(tls: buildConnector.BuildOptions): Dispatcher {
  return new EnvHttpProxyAgent({ ...POOL, connect: { ...tls, timeout: POOL.connectTimeout }, requestTls: tls });
}

/** Converts the options between the types of node:tls and undici. */
function tlsOf(options: object): buildConnector.BuildOptions {
  return { ...KEEP_ALIVE, ...options };
}
