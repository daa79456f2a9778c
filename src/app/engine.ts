import { readFile } from 'node:fs/promises';
import type { Logger } from 'pino';
import type { Settings } from '../config/schema.ts';
import { systemClock } from '../platform/clock.ts';
import { createEngine } from '../pinot/connection.ts';
import { credentialFromFile } from '../pinot/credential.ts';
import type { Engine, KnownTables } from '../pinot/types.ts';

/** The client of the configured Pinot cluster. It connects at the first request. @throws {Error} when the CA file cannot be read */
export async function openEngine(settings: Settings, log: Logger): Promise<Engine & KnownTables> {
  const onProblem = (message: string): void => log.warn({ part: 'engine' }, message);
  const credentialFile = settings['engine-credential-file'];
  const caFile = settings['engine-ca-file'];
  return createEngine({
    controllerUrls: settings.controllers,
    brokerUrls: settings.brokers,
    onProblem,
    ...(credentialFile !== undefined && {
      credential: credentialFromFile(credentialFile, systemClock, onProblem),
    }),
    ...(caFile !== undefined && { ca: await readFile(caFile, 'utf8') }),
  });
}
