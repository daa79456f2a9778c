import type { FastifyInstance } from 'fastify';
import { drain } from '../../api/server/drain.ts';
import { listen } from '../../api/server/server.ts';
import type { Boot } from './boot.ts';
import { watchCertificate } from './certificate.ts';

/** Opens the listener of the REST API. Closers deferred before this call run after the last request. @returns the port */
export async function serve(boot: Boot, app: FastifyInstance): Promise<number> {
  const { settings, closers, log, host } = boot;
  closers.defer('gateway', async () => {
    const drained = await drain(app, settings['shutdown-grace']);
    if (!drained) log.warn('requests aborted after `shutdown-grace`');
  });
  closers.defer('certificate', watchCertificate(app, settings, log));
  boot.listener.port = await listen(app, host, settings.port);
  return boot.listener.port;
}
