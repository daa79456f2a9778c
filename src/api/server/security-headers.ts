import helmet from '@fastify/helmet';
import fastify from 'fastify';

const cache = new Map<boolean, Promise<Readonly<Record<string, string>>>>();

/**
 * The security headers of all responses. They are computed by helmet once and cached: computing them per request costs as much as an authorization
 * decision.
 * @param https whether to send `Strict-Transport-Security`
 */
export function securityHeaders(https: boolean): Promise<Readonly<Record<string, string>>> {
  let headers = cache.get(https);
  if (headers === undefined) {
    headers = helmetHeaders(https);
    cache.set(https, headers);
  }
  return headers;
}

async function helmetHeaders(https: boolean): Promise<Readonly<Record<string, string>>> {
  const probe = fastify();
  await probe.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    strictTransportSecurity: https,
  });
  probe.get('/', async (_request, reply) => reply.raw.getHeaders());
  const response = await probe.inject('/');
  await probe.close();
  return response.json<Record<string, string>>();
}
