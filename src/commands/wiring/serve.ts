import type { FastifyInstance } from 'fastify';
import { drain, listen } from '../../http/server.ts';
import type { Boot } from './boot.ts';
import { followCertificate } from './certificate.ts';

/** Opens the listener of the REST interfaces. What is deferred before it outlives the requests that are under way. @returns its port */
export async function serve(boot: Boot, app: FastifyInstance): Promise<number> {
  const { settings, closers, log, host } = boot;
  closers.defer('gateway', async () => {
    const whole = await drain(app, settings['shutdown-grace']);
    if (!whole) log.warn('requests that took longer than `shutdown-grace` were cut');
  });
  closers.defer('certificate', followCertificate(app, settings, log));
  boot.listener.port = await listen(app, host, settings.port);
  return boot.listener.port;
}
