import { KubeConfig } from '@kubernetes/client-node';
import { errorMessage } from '../platform/plain-error.ts';
import { checkTlsMaterial } from './tls-material.ts';
import { kubeconfigFiles, useTokenFiles } from './token-files.ts';

type KubeconfigEnvironment = Readonly<Record<string, string | undefined>>;

/** A kubeconfig that cannot be used. The message is one line and repeats no line of the file, which can contain credentials. */
export class KubeconfigError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'KubeconfigError';
  }
}

/**
 * Loads the kubeconfig, and checks what it contains itself. Files that it names are read later, and again after a change.
 * @param path undefined for `KUBECONFIG`, `~/.kube/config` or the service account of the pod
 * @throws {KubeconfigError}
 */
export function loadKubeconfig(path: string | undefined, env: KubeconfigEnvironment): KubeConfig {
  const config = new KubeConfig();
  const files = kubeconfigFiles(path, env);
  const where = files.length === 0 ? 'kubeconfig' : `kubeconfig ${files.map((file) => `\`${file}\``).join(', ')}`;
  try {
    if (path === undefined) config.loadFromDefault();
    else config.loadFromFile(path);
    useTokenFiles(config, files);
  } catch (error) {
    throw new KubeconfigError(`${where}: ${reasonOf(error)}`);
  }
  const problem = problemOf(config);
  if (problem !== undefined) throw new KubeconfigError(`${where}: ${problem}`);
  return config;
}

/** The messages of YAML parsers contain lines of the file, and those of a TypeError say nothing to a user. */
function reasonOf(error: unknown): string {
  const { code, mark, linePos } = error as { code?: unknown; mark?: { line?: number }; linePos?: [{ line?: number }] };
  if (code === 'ENOENT') return 'the file does not exist';
  if (code === 'EISDIR') return 'it is a folder, not a file';
  if (code === 'EACCES' || code === 'EPERM') return 'no permission to read the file';
  const line = mark?.line === undefined ? linePos?.[0].line : mark.line + 1;
  return line === undefined
    ? 'it is not a kubeconfig: it must be YAML with `clusters`, `contexts`, `users` and `current-context`'
    : `invalid YAML in line ${line}`;
}

function problemOf(config: KubeConfig): string | undefined {
  const cluster = config.getCurrentCluster();
  // A context without a cluster is reported by the transport, with the contexts that exist.
  if (cluster === null) return undefined;
  if (!isUrl(cluster.server, ['https:', 'http:'])) return 'the `server` of its cluster must be an https URL';
  if (cluster.server.startsWith('http:') && !cluster.skipTLSVerify)
    return 'the `server` of its cluster must be an https URL; `http` is allowed only with `insecure-skip-tls-verify: true`';
  if (cluster.proxyUrl && !isUrl(cluster.proxyUrl, ['https:', 'http:', 'socks:', 'socks5:']))
    return 'the `proxy-url` of its cluster must be an http, https or socks5 URL';
  const user = config.getCurrentUser();
  const context = config.getContextObject(config.getCurrentContext());
  if (user === null && context?.user) return 'the user of its current context is not in `users`';
  try {
    // Material in files is checked when they are read.
    checkTlsMaterial({
      ca: decoded(cluster.caData),
      ...(user?.certData && user.keyData && { cert: decoded(user.certData), key: decoded(user.keyData) }),
    });
  } catch (error) {
    return errorMessage(error);
  }
  return undefined;
}

const decoded = (base64: string | undefined): Buffer | undefined =>
  base64 ? Buffer.from(base64, 'base64') : undefined;

function isUrl(text: unknown, protocols: readonly string[]): boolean {
  return typeof text === 'string' && URL.canParse(text) && protocols.includes(new URL(text).protocol);
}
