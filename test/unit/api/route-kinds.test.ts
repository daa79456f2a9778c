import type { RouteOptions } from 'fastify';
import { expect, it } from 'vitest';
import { clusterHealthRoutes } from '../../../src/api/health/index.ts';
import { rbacManager } from '../../../src/api/rbac/index.ts';
import { testApp } from '../../support/app.ts';

it('calls to RBAC and health are limited by caller, those that other gateways take part in are not', async () => {
  const routes: RouteOptions[] = [];
  const app = await testApp({
    register: async (scope) => {
      scope.addHook('onRoute', (route) => void routes.push(route));
      await rbacManager(scope, { manager: {} as never, queries: {} as never });
      await clusterHealthRoutes(scope, { store: {}, clock: {} } as never);
    },
  });
  const documented = routes.filter(({ schema }) => schema !== undefined && schema.hide !== true);
  const limited = documented.filter(({ config }) => config?.kind === 'own').map(({ url }) => url);
  const others = documented.filter(({ config }) => config?.kind !== 'own').map(({ url }) => url);

  expect(new Set(limited.map((url) => url.split('/')[1]))).toEqual(new Set(['api', 'clusterHealth']));
  expect(limited.length).toBeGreaterThan(30);
  expect(new Set(others)).toEqual(new Set(['/periodictask/names', '/periodictask/run']));
  await app.close();
});
