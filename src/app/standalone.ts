import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { TokenFileAuthenticator } from '../access/authenticators/token-file.ts';
import { systemClock } from '../platform/clock.ts';
import { FolderStore } from '../store/folder/folder-store.ts';
import type { CommandContext } from './context.ts';
import type { Boot } from './boot.ts';
import { openEngine } from './engine.ts';
import { assignLocalAdministrator, ensureLocalTokens, untilPredefined } from './first-administrator.ts';
import { composeGateway } from './gateway-app.ts';
import { composeOperator } from './operator-parts.ts';
import { serve } from './serve.ts';
import type { ServiceDefinition } from './service.ts';

const PREDEFINED_TIMEOUT_MS = 15_000;

/** Operator and gateway in one process, with a folder of manifests. */
export const standalone: ServiceDefinition = { name: 'standalone', defaultHost: '127.0.0.1', compose };

async function compose(boot: Boot, context: CommandContext): Promise<number> {
  const { settings, log, closers } = boot;
  const dataDir = resolve(settings['data-dir']);
  const store = await FolderStore.open(dataDir, {
    onError: (error, { kind, during }) => log.warn({ err: error, kind, during }, 'manifest store problem'),
  });
  closers.defer('store', () => store.close());
  const engine = await openEngine(settings, log);
  closers.defer('engine', () => engine.close());

  composeOperator(boot, { store, engine });
  await untilPredefined(store, PREDEFINED_TIMEOUT_MS);
  const { file, newToken } = await ensureLocalTokens(dataDir);
  if (newToken !== undefined) await assignLocalAdministrator(store, AbortSignal.timeout(PREDEFINED_TIMEOUT_MS));
  const tokens = await TokenFileAuthenticator.open({
    read: () => readFile(settings['token-file'] ?? file, 'utf8'),
    clock: systemClock,
    onProblem: (message) => log.error({ message }, 'token file rejected; keeping the current tokens'),
  });
  const app = await composeGateway(boot, {
    store,
    storeKind: 'folder',
    engine,
    before: [tokens],
    cleansResults: true,
  });
  const port = await serve(boot, app);
  if (newToken !== undefined) {
    context.stdout(
      `Token of the first administrator (shown once; also stored in ${resolve(dataDir, 'admin-token')}):\n  ${newToken}\n`,
    );
  }
  return port;
}
