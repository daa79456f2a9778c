import { readFile } from 'node:fs/promises';
import type { Authenticator } from '../access/authenticators/authenticator.ts';
import { KubernetesAuthenticator } from '../access/authenticators/kubernetes.ts';
import { TokenFileAuthenticator } from '../access/authenticators/token-file.ts';
import { systemClock } from '../platform/clock.ts';
import type { KubernetesTransport } from '../kubernetes/transport.ts';
import { SERVICE_TOKEN_PART } from '../store/secret-label.ts';
import type { Boot } from './boot.ts';
import { openEngine } from './engine.ts';
import { composeGateway } from './gateway-app.ts';
import { openKubernetesStore, openTransport, tokenReview } from './kubernetes.ts';
import { serve } from './serve.ts';
import type { ServiceDefinition } from './service.ts';

/** The sidecar service with a Kubernetes API. It decides access from its local view, also while that API is unavailable. */
export const gateway: ServiceDefinition = { name: 'gateway', defaultHost: '0.0.0.0', compose };

async function compose(boot: Boot): Promise<number> {
  const { settings, live, log, closers, readiness } = boot;
  const transport = await openTransport(settings);
  closers.defer('transport', () => transport.close());
  // Only the hashes of tokens: the gateway must not have the tokens themselves.
  const store = openKubernetesStore(transport, log, [SERVICE_TOKEN_PART]);
  closers.defer('store', () => store.close());
  const engine = await openEngine(settings, log);
  closers.defer('engine', () => engine.close());
  const app = await composeGateway(boot, {
    store,
    storeKind: 'kubernetes',
    engine,
    before: await tokenFile(boot),
    // Without a credential for the gateways the operator's cleaner cannot call them: each gateway cleans itself.
    cleansResults: live.get()['controller.admin.auth.url'] === undefined,
    after: settings['kubernetes-tokens'] ? [kubernetesTokens(boot, transport)] : [],
  });
  // Ready after the first list. A stale view is reported by a metric and does not make the gateway unready.
  readiness.set('resources', () => {
    const { synced, lastError } = store.health();
    return synced ? undefined : `not synced${lastError === undefined ? '' : `: ${lastError}`}`;
  });
  return serve(boot, app);
}

async function tokenFile({ settings, log }: Boot): Promise<Authenticator[]> {
  const path = settings['token-file'];
  if (path === undefined) return [];
  return [
    await TokenFileAuthenticator.open({
      read: () => readFile(path, 'utf8'),
      clock: systemClock,
      onProblem: (message) => log.error({ message }, 'token file rejected; keeping the current tokens'),
    }),
  ];
}

function kubernetesTokens({ settings, log }: Boot, transport: KubernetesTransport): Authenticator {
  return new KubernetesAuthenticator({
    review: tokenReview(transport),
    audiences: settings['kubernetes-audiences'],
    clock: systemClock,
    onUnavailable: (error) => log.warn({ err: error }, 'TokenReview failed'),
  });
}
