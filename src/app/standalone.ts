import { resolve } from 'node:path';
import { FolderStore } from '../store/folder/folder-store.ts';
import type { CommandContext } from './context.ts';
import type { Boot } from './parts/boot.ts';
import { openEngine } from './parts/engine.ts';
import { assignLocalAdministrator, ensureLocalTokens, untilPredefined } from './parts/first-administrator.ts';
import { startControllers } from './parts/controllers.ts';
import { composeRestApi } from './parts/rest-api.ts';
import { serve } from './parts/serve.ts';
import { openTokenFile } from './parts/token-file.ts';
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
  const engine = await openEngine(boot);

  startControllers(boot, { store, engine });
  await untilPredefined(store, PREDEFINED_TIMEOUT_MS);
  const { file, newToken } = await ensureLocalTokens(dataDir);
  if (newToken !== undefined) await assignLocalAdministrator(store, AbortSignal.timeout(PREDEFINED_TIMEOUT_MS));
  const tokens = await openTokenFile(boot, settings['token-file'] ?? file);
  const app = await composeRestApi(boot, {
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
