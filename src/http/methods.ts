import type { FastifyInstance, HTTPMethods, RouteOptions } from 'fastify';
import { notFound } from './app-errors.ts';
import { HttpError } from './errors.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True where other methods of the same URL are left to a more general route, such as the engine's. */
    otherMethodsElsewhere?: boolean;
  }
}

const METHODS: readonly HTTPMethods[] = ['DELETE', 'GET', 'HEAD', 'OPTIONS', 'PATCH', 'POST', 'PUT', 'QUERY', 'TRACE'];

/**
 * Remembers the routes that are registered from now on; the function that it returns gives each URL a 405 with `Allow` for the methods it lacks.
 * Wildcard routes are left alone: they mean to take everything.
 */
export function methodGuard(app: FastifyInstance): () => void {
  const methodsByUrl = new Map<string, Set<string>>();
  app.addHook('onRoute', (route: RouteOptions & { routePath: string }) => {
    if (route.url.includes('*') || route.config?.otherMethodsElsewhere) return;
    const methods = methodsByUrl.get(route.url) ?? new Set<string>();
    for (const method of [route.method].flat()) methods.add(method);
    methodsByUrl.set(route.url, methods);
  });
  return () => {
    // The hook above sees these routes too: what is iterated over must not be what it writes to.
    const registered = [...methodsByUrl];
    methodsByUrl.clear();
    for (const [url, allowed] of registered) {
      const others = METHODS.filter((method) => !allowed.has(method));
      const allow = [...allowed].sort().join(', ');
      if (others.length === 0) continue;
      app.route({
        method: others,
        url,
        config: { public: true },
        schema: { hide: true },
        // Before a body is read: whatever it holds, the method is what is wrong.
        onRequest: async (request) => {
          throw new HttpError(405, `\`${request.method}\` is not allowed here, but ${allow}`, { headers: { allow } });
        },
        handler: () => undefined,
      });
    }
  };
}

/** Paths below which there is nothing but this program's own: what has no route there is 404, not a question to the engine. */
const OWN_PATHS = ['/api/v1/*', '/docs/*'];

/** Keeps a route that takes every path from answering for these. */
export function keepOwnPaths(app: FastifyInstance): void {
  for (const url of OWN_PATHS) {
    app.all(url, {
      config: { public: true },
      schema: { hide: true },
      // Before a body is read, as for any path that there is not.
      onRequest: async (request) => {
        throw notFound(request);
      },
      handler: () => undefined,
    });
  }
}
