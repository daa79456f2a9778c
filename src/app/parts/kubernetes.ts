import { errorMessage } from '../../platform/plain-error.ts';
import type { TokenReviewStatus } from '../../access/authenticators/kubernetes.ts';
import type { KubernetesConfig } from '../../kubernetes/credentials.ts';
import { SettingsError } from '../../config/keys.ts';
import { inClusterConfig, isInCluster } from '../../kubernetes/in-cluster.ts';
import { KubernetesStore } from '../../kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../kubernetes/transport.ts';
import { systemClock } from '../../platform/clock.ts';
import { LOG_LIMITS, RateLimiter } from '../../platform/rate-limiter.ts';
import { VERSION } from './version.ts';
import type { Boot } from './boot.ts';

/** The client of the configured Kubernetes API, or that of the pod. `boot.closers` closes it. @throws {SettingsError} when the configuration cannot be used */
export async function openTransport({ settings, closers }: Boot): Promise<KubernetesTransport> {
  const load = await kubernetesConfiguration(settings.kubeconfig);
  const options = { namespace: settings.namespace, userAgent: `olap-warden/${VERSION}` };
  const transport = usable(() => new KubernetesTransport(load, options));
  closers.defer('transport', () => transport.close());
  return transport;
}

/** @throws {SettingsError} with the message of the error, in one line */
function usable<T>(open: () => T): T {
  try {
    return open();
  } catch (error) {
    throw new SettingsError([errorMessage(error).split('\n', 1)[0] ?? '']);
  }
}

/** A function that reads the configuration, at start and after the server rejected its credentials. */
export async function kubernetesConfiguration(kubeconfig: string | undefined): Promise<() => KubernetesConfig> {
  if (kubeconfig === undefined && isInCluster(process.env)) return () => inClusterConfig(process.env);
  // The client library is loaded only where a kubeconfig is used.
  const { loadKubeconfig } = await import('../../kubernetes/kubeconfig.ts');
  return () => loadKubeconfig(kubeconfig, process.env);
}

/** Opens the store of the namespace's resources. `boot.closers` closes it. */
export function openKubernetesStore({ log, closers }: Boot, transport: KubernetesTransport): KubernetesStore {
  const logLines = new RateLimiter(systemClock, LOG_LIMITS);
  const store = new KubernetesStore({
    transport,
    onError: (error, { kind, during }) => {
      // Each kind fails every few seconds during an outage.
      const suppressed = logLines.admit(kind);
      if (suppressed !== undefined)
        log.warn({ err: error, kind, during, suppressed }, 'resource watch failed; retrying');
    },
  });
  closers.defer('store', () => store.close());
  return store;
}

/** Creates TokenReviews. Requires the verb `create` on `tokenreviews`. */
export function tokenReview(transport: KubernetesTransport) {
  return async (token: string, audiences: readonly string[], signal: AbortSignal): Promise<TokenReviewStatus> => {
    const { body } = await transport.request<{ status?: TokenReviewStatus }>(
      'POST',
      '/apis/authentication.k8s.io/v1/tokenreviews',
      {
        body: {
          apiVersion: 'authentication.k8s.io/v1',
          kind: 'TokenReview',
          spec: { token, ...(audiences.length > 0 && { audiences }) },
        },
        signal,
        timeoutMs: 8000,
        retries: 1,
      },
    );
    return body.status ?? {};
  };
}
