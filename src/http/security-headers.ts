import helmet from '@fastify/helmet';
import fastify from 'fastify';

const known = new Map<boolean, Promise<Readonly<Record<string, string>>>>();

/**
 * The security headers of every answer. They are the same for each request, so helmet is asked once: to work them out anew each time costs as much as
 * a decision on access.
 * @param https whether browsers are told to come back by TLS alone
 */
export function securityHeaders(https: boolean): Promise<Readonly<Record<string, string>>> {
  let headers = known.get(https);
  if (headers === undefined) {
    headers = ofHelmet(https);
    known.set(https, headers);
  }
  return headers;
}

async function ofHelmet(https: boolean): Promise<Readonly<Record<string, string>>> {
  const probe = fastify();
  await probe.register(helmet, {
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { 'default-src': ["'none'"], 'frame-ancestors': ["'none'"] },
    },
    strictTransportSecurity: https,
  });
  probe.get('/', async (_request, reply) => reply.raw.getHeaders());
  const answer = await probe.inject('/');
  await probe.close();
  return answer.json<Record<string, string>>();
}
