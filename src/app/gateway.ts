import type { Authenticator } from '../access/authenticators/authenticator.ts';
import { hashMigration } from '../access/authenticators/hash-migration.ts';
import { KubernetesAuthenticator } from '../access/authenticators/kubernetes.ts';
import { systemClock } from '../platform/clock.ts';
import { configMapDocument } from '../kubernetes/config-map-document.ts';
import type { KubernetesTransport } from '../kubernetes/transport.ts';
import type { Boot } from './parts/boot.ts';
import { openEngine } from './parts/engine.ts';
import { composeRestApi } from './parts/rest-api.ts';
import { openKubernetesStore, openTransport, tokenReview } from './parts/kubernetes.ts';
import { serve } from './parts/serve.ts';
import { viewProblem } from './parts/view-age.ts';
import { openTokenFile } from './parts/token-file.ts';
import type { ServiceDefinition } from './service.ts';

/** The sidecar service with a Kubernetes API. It decides access from its local view, also while that API is unavailable. */
export const gateway: ServiceDefinition = { name: 'gateway', defaultHost: '0.0.0.0', compose };

async function compose(boot: Boot): Promise<number> {
  const { settings, live, readiness } = boot;
  const transport = await openTransport(boot);
  const store = openKubernetesStore(boot, transport);
  const engine = await openEngine(boot);
  const app = await composeRestApi(boot, {
    store,
    storeKind: 'kubernetes',
    engine,
    usageDocument: configMapDocument(transport, settings['usage-config-map'], 'usage'),
    endedSessionsDocument: configMapDocument(transport, settings['usage-config-map'], 'ended-sessions'),
    before: settings['token-file'] === undefined ? [] : [await openTokenFile(boot, settings['token-file'])],
    // Without a credential for the gateways the operator's cleaner cannot call them: each gateway cleans itself.
    cleansResults: live.get()['controller.admin.auth.url'] === undefined,
    after: settings['kubernetes-tokens'] ? [kubernetesTokens(boot, transport)] : [],
  });
  const stale = viewProblem(() => store.health(), settings['max-view-age']);
  // Ready after the first list. A stale view is reported by a metric and makes the gateway unready only where it refuses requests.
  readiness.set('resources', () => {
    const { synced, lastError } = store.health();
    return synced ? stale() : `not synced${lastError === undefined ? '' : `: ${lastError}`}`;
  });
  readiness.set('token-hashes', hashMigration(store, systemClock));
  return serve(boot, app);
}

function kubernetesTokens({ settings, log }: Boot, transport: KubernetesTransport): Authenticator {
  return new KubernetesAuthenticator({
    review: tokenReview(transport),
    audiences: settings['kubernetes-audiences'],
    clock: systemClock,
    onUnavailable: (error) => log.warn({ err: error }, 'TokenReview failed'),
  });
}
