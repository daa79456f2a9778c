import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify';
import { notFound } from '../app-errors.ts';
import { HttpError } from '../errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Methods of this URL that a more general route, such as that of the engine proxy, handles. */
    methodsElsewhere?: readonly HTTPMethods[];
  }
}

const METHODS: readonly HTTPMethods[] = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'];

/**
 * Records the routes that are registered later.
 * @returns registers 405 responses with `Allow` for the other methods of each URL, except for wildcard routes
 */
export function methodGuard(app: FastifyInstance): () => void {
  const methodsByUrl = new Map<string, Set<string>>();
  const elsewhere = new Set<string>();
  app.addHook('onRoute', (route: RouteOptions & { routePath: string }) => {
    if (route.url.includes('*')) return;
    const methods = methodsByUrl.get(route.url) ?? new Set<string>();
    for (const method of [route.method].flat()) methods.add(method);
    methodsByUrl.set(route.url, methods);
    for (const method of route.config?.methodsElsewhere ?? []) elsewhere.add(`${method} ${route.url}`);
  });
  return () => {
    // The routes below trigger the hook above, which must not change the map during iteration.
    const registered = [...methodsByUrl];
    methodsByUrl.clear();
    for (const [url, allowed] of registered) {
      const others = METHODS.filter((method) => !allowed.has(method) && !elsewhere.has(`${method} ${url}`));
      const allow = [...allowed].sort().join(', ');
      if (others.length === 0) continue;
      app.route({
        method: others,
        url,
        config: { public: true },
        schema: { hide: true },
        // In onRequest, so that no body is read or validated first.
        onRequest: async (request) => {
          throw new HttpError(405, `\`${request.method}\` is not allowed here: use ${allow}`, { headers: { allow } });
        },
        handler: () => undefined,
      });
    }
  };
}

/** Paths of the gateway only: unknown ones are 404 and are not forwarded to the engine. */
const OWN_PATHS = ['/api/v1/*', '/docs/*'];

/** Responds with 404 for unknown paths below these, before the catch-all route of the engine proxy. */
export function reserveOwnPaths(app: FastifyInstance): void {
  for (const url of OWN_PATHS) {
    app.all(url, {
      config: { public: true },
      schema: { hide: true },
      // In onRequest, so that no body is read first.
      onRequest: async (request) => {
        throw notFound(request);
      },
      handler: () => undefined,
    });
  }
}
