import type { FastifyInstance } from 'fastify';
import type { RbacManager } from '../../access/manager/manager.ts';
import type { LimitedQueryDependencies } from '../engine/limited-query.ts';
import { accessReviewRoutes } from './access-review.ts';
import { accessRoutes } from './access.ts';
import { assignmentRoutes } from './assignments.ts';
import { refuseUnusedIfMatch } from './conditional.ts';
import { policyRoutes } from './policies.ts';
import { previewRoutes } from './preview.ts';
import { roleRoutes } from './roles.ts';
import { serviceTokenRoutes } from './service-tokens.ts';
import { whoCanRoutes } from './who-can.ts';

export const RBAC_MANAGER_PATH = '/api/v1/rbac-manager';

export interface RbacManagerOptions {
  readonly manager: RbacManager;
  /** For the preview of queries. */
  readonly queries: LimitedQueryDependencies;
}

/** The REST API of the RBAC manager, under `/api/v1/rbac-manager`. */
export async function rbacManager(app: FastifyInstance, { manager, queries }: RbacManagerOptions): Promise<void> {
  await app.register(
    async (scope) => {
      scope.addHook('onRoute', (route) => {
        route.config = { kind: 'own', ...route.config };
      });
      refuseUnusedIfMatch(scope);
      roleRoutes(scope, manager);
      assignmentRoutes(scope, manager);
      policyRoutes(scope, manager);
      serviceTokenRoutes(scope, manager);
      accessRoutes(scope, manager);
      whoCanRoutes(scope, manager);
      accessReviewRoutes(scope, manager);
      previewRoutes(scope, manager, queries);
    },
    { prefix: RBAC_MANAGER_PATH },
  );
}
