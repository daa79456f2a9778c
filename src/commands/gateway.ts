import { readFile } from 'node:fs/promises';
import type { Authenticator } from '../access/authenticator.ts';
import { KubernetesAuthenticator } from '../access/authenticators/kubernetes.ts';
import { TokenFileAuthenticator } from '../access/authenticators/token-file.ts';
import type { KubernetesTransport } from '../store/kubernetes/transport.ts';
import { SERVICE_TOKEN_PART } from '../store/secret-label.ts';
import type { Boot } from './wiring/boot.ts';
import { openEngine } from './wiring/engine.ts';
import { composeGateway } from './wiring/gateway-app.ts';
import { openKubernetesStore, openTransport, tokenReview } from './wiring/kubernetes.ts';
import { serve } from './wiring/serve.ts';
import type { ServiceDefinition } from './wiring/service.ts';

/** The sidecar service, in front of a Kubernetes API: it decides from its own view, and goes on serving while that API is away. */
export const gateway: ServiceDefinition = { name: 'gateway', defaultHost: '0.0.0.0', compose };

async function compose(boot: Boot): Promise<number> {
  const { settings, live, log, closers, readiness } = boot;
  const transport = await openTransport(settings);
  closers.defer('transport', () => transport.close());
  // Hashes alone: what faces people holds no token.
  const store = openKubernetesStore(transport, log, [SERVICE_TOKEN_PART]);
  closers.defer('store', () => store.close());
  const engine = await openEngine(settings, log);
  closers.defer('engine', () => engine.close());
  const app = await composeGateway(boot, {
    store,
    storeKind: 'kubernetes',
    engine,
    before: await tokenFile(boot),
    // Without a credential for the gateways the operator's cleaner cannot call them.
    cleansResults: live.get()['controller.admin.auth.url'] === undefined,
    after: settings['kubernetes-tokens'] ? [kubernetesTokens(boot, transport)] : [],
  });
  // What was once read is served while the API is away: its age is a metric, not a reason to be taken out.
  readiness.set('resources', () => {
    const { synced, lastError } = store.health();
    return synced ? undefined : `not read yet${lastError === undefined ? '' : `: ${lastError}`}`;
  });
  return serve(boot, app);
}

async function tokenFile({ settings, log }: Boot): Promise<Authenticator[]> {
  const path = settings['token-file'];
  if (path === undefined) return [];
  return [
    await TokenFileAuthenticator.open({
      read: () => readFile(path, 'utf8'),
      now: () => new Date(),
      onProblem: (message) => log.error({ message }, 'the token file is refused; the tokens stay as they were'),
    }),
  ];
}

function kubernetesTokens({ settings, log }: Boot, transport: KubernetesTransport): Authenticator {
  return new KubernetesAuthenticator({
    review: tokenReview(transport),
    audiences: settings['kubernetes-audiences'],
    now: () => new Date(),
    onUnavailable: (error) => log.warn({ err: error }, 'a Kubernetes token cannot be checked'),
  });
}
