import { readFile } from 'node:fs/promises';
import type { Settings } from '../../config/schema.ts';
import { createEngine } from '../../pinot/connection.ts';
import { credentialFromFile } from '../../pinot/credential.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Boot } from './boot.ts';

/**
 * The client of the configured Pinot cluster. It connects at the first request. `boot.closers` closes it.
 * @param settings those of the cluster; by default those of the process
 * @throws {Error} when the CA file cannot be read
 */
export async function openEngine(
  { settings: own, log, closers, upstreams }: Boot,
  settings: Settings = own,
): Promise<Engine & KnownTables> {
  const onProblem = (message: string): void => log.warn({ part: 'engine' }, message);
  const credentialFile = settings['engine-credential-file'];
  const caFile = settings['engine-ca-file'];
  const engine = createEngine({
    controllerUrls: settings.controllers,
    brokerUrls: settings.brokers,
    limits: { share: own['max-pool-share'] / 100 },
    onProblem,
    observer: upstreams,
    ...(credentialFile !== undefined && {
      credential: credentialFromFile(credentialFile, systemClock, onProblem),
    }),
    ...(caFile !== undefined && { ca: await readFile(caFile, 'utf8') }),
  });
  closers.defer('engine', () => engine.close());
  return engine;
}
