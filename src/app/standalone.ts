import { resolve } from 'node:path';
import { SettingsError } from '../config/keys.ts';
import type { Properties } from '../config/properties.ts';
import { fileDocument } from '../store/folder/file-document.ts';
import { FolderStore } from '../store/folder/folder-store.ts';
import { systemClock } from '../platform/clock.ts';
import { Deadline } from '../platform/deadline.ts';
import type { ResourceStore } from '../store/resource-store.ts';
import type { CommandContext } from './parts/context.ts';
import type { Boot } from './parts/boot.ts';
import { openEngine } from './parts/engine.ts';
import {
  assignLocalAdministrator,
  ensureLocalTokens,
  recoverLocalAdministrator,
  untilPredefined,
} from './parts/first-administrator.ts';
import { startControllers } from './parts/controllers.ts';
import { composeRestApi } from './parts/rest-api.ts';
import { serve } from './parts/serve.ts';
import { ensureSessionKey } from './parts/session-key.ts';
import { openTokenFile } from './parts/token-file.ts';
import { PROPERTIES } from './parts/properties.ts';
import type { ServiceDefinition } from './service.ts';

/** Time limit for the predefined roles and the first administrator. */
const FIRST_RESOURCES_MS = 15_000;

/** Operator and gateway in one process, with a folder of manifests. */
export const standalone: ServiceDefinition = { name: 'standalone', defaultHost: '127.0.0.1', compose };

async function compose(boot: Boot, context: CommandContext): Promise<number> {
  const { settings, log, closers } = boot;
  refuseCleaner(boot.live.get());
  const dataDir = resolve(settings['data-dir']);
  const store = await FolderStore.open(dataDir, {
    onError: (error, { kind, during }) => log.warn({ err: error, kind, during }, 'manifest store problem'),
  });
  closers.defer('store', () => store.close());
  const engine = await openEngine(boot);

  startControllers(boot, { store, engine });
  const { file, newToken } = await createAdministrator(store, dataDir, settings['recover-admin']);
  const tokens = await openTokenFile(boot, settings['token-file'] ?? file);
  const sessionKeyFile = settings['ui-session-key-file'] ?? (await ensureSessionKey(dataDir));
  const app = await composeRestApi(boot, {
    store,
    storeKind: 'folder',
    engine,
    sessionKeyFile,
    usageDocument: fileDocument(resolve(dataDir, 'access-usage.json')),
    // Beside the keys, so that processes with the same keys share it.
    endedSessionsDocument: fileDocument(`${sessionKeyFile}.ended`),
    before: [tokens],
    cleansResults: true,
  });
  const port = await serve(boot, app);
  if (newToken !== undefined) {
    // Not the token itself: the standard output of a service is a log.
    context.stdout(`The token of the administrator admin@localhost is in ${resolve(dataDir, 'admin-token')}\n`);
  }
  return port;
}

/**
 * The process deletes its own expired results, so what configures the operator's cleaner would be without effect.
 * @throws {SettingsError}
 */
function refuseCleaner(properties: Properties): void {
  const frequency = 'controller.cluster.pagination.cleaner.frequencyPeriod';
  const unset = [
    'controller.cluster.pagination.cleaner.initialDelay',
    'controller.admin.auth.provider.class',
    'controller.admin.auth.url',
  ] as const;
  const written: string[] = unset.filter((key) => properties[key] !== undefined);
  if (properties[frequency] !== PROPERTIES.keys.get(frequency)?.default) written.push(frequency);
  if (written.length === 0) return;
  const why =
    'it configures the cleaner of the operator; `standalone` deletes its own expired results every 30 seconds';
  throw new SettingsError(written.map((key) => `\`${key}\` has no effect here: ${why}`));
}

/**
 * Waits for the predefined roles. The first start also creates a token of the first administrator and assigns a role to it.
 * @param recover whether to do so again
 */
async function createAdministrator(
  store: ResourceStore,
  dataDir: string,
  recover: boolean,
): ReturnType<typeof ensureLocalTokens> {
  const deadline = new Deadline(systemClock, FIRST_RESOURCES_MS);
  try {
    await untilPredefined(store, deadline);
    const tokens = await ensureLocalTokens(dataDir);
    if (recover) return { ...tokens, newToken: await recoverLocalAdministrator(store, dataDir, deadline.signal) };
    if (tokens.newToken !== undefined) await assignLocalAdministrator(store, deadline.signal);
    return tokens;
  } finally {
    deadline.clear();
  }
}
