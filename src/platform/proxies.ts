import { BlockList, isIP } from 'node:net';

type Env = Readonly<Record<string, string | undefined>>;

const NAMES = ['HTTP_PROXY', 'HTTPS_PROXY'] as const;

/** Lower-case names first, as in undici, Node and curl. */
function variable(env: Env, name: string): string {
  return env[name.toLowerCase()] ?? env[name] ?? '';
}

/**
 * Checks the proxies of the environment, which undici, Node and the clients of the buckets read: `HTTP_PROXY`, `HTTPS_PROXY` and `NO_PROXY`. In a pod, the address
 * of the Kubernetes API is added to `NO_PROXY`: no proxy can reach the network of the cluster. Call it before the first connection.
 * @returns what is wrong, without the credentials of a proxy
 */
export function prepareProxies(env: Record<string, string | undefined>): string | undefined {
  for (const name of NAMES) {
    const value = variable(env, name);
    if (value === '') continue;
    const url = URL.parse(value);
    if (url?.protocol !== 'http:' && url?.protocol !== 'https:')
      return `the environment variable \`${name}\` must be the URL of a proxy, such as http://proxy.example.com:3128`;
  }
  const host = env['KUBERNETES_SERVICE_HOST'];
  if (host && hasProxies(env)) {
    const name = env['no_proxy'] === undefined ? 'NO_PROXY' : 'no_proxy';
    env[name] = [variable(env, 'NO_PROXY'), host].filter((part) => part !== '').join(',');
  }
  return undefined;
}

function hasProxies(env: Env): boolean {
  return NAMES.some((name) => variable(env, name) !== '');
}

/**
 * Whether a proxy of the environment may apply to a server of the engine. Engines are often named by address, so that `NO_PROXY` may have networks
 * (`10.0.0.0/8`), which undici does not read; it applies the other entries.
 * @param url base URL
 */
export function mayUseProxy(url: string, env: Env = process.env): boolean {
  if (!hasProxies(env)) return false;
  const host = new URL(url).hostname.replace(/^\[(.*)\]$/, '$1');
  const family = isIP(host);
  return family === 0 || !networks(variable(env, 'NO_PROXY')).check(host, family === 6 ? 'ipv6' : 'ipv4');
}

function networks(noProxy: string): BlockList {
  const list = new BlockList();
  for (const entry of noProxy.split(/[,\s]+/)) {
    const [address = '', bits] = entry.split('/');
    const family = isIP(address);
    const prefix = Number(bits);
    const isPrefix = bits !== undefined && /^\d+$/.test(bits) && prefix <= (family === 6 ? 128 : 32);
    if (family !== 0 && isPrefix) list.addSubnet(address, prefix, family === 6 ? 'ipv6' : 'ipv4');
  }
  return list;
}
