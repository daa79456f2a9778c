import type { FastifyInstance } from 'fastify';
import { engineProxy } from '../../../../src/api/proxy/index.ts';
import { DecisionEngine } from '../../../../src/access/policy/decision.ts';
import { createEngine } from '../../../../src/pinot/connection.ts';
import { authorizerOf, dataPlaneOf, testApp } from '../../../support/app.ts';

/** The query and controller paths of a gateway before an engine, for a caller with the role `r`, which the test defines. */
export async function proxyApp(
  controllerUrl: string,
  cluster: string,
): Promise<{ app: FastifyInstance; decisions: DecisionEngine }> {
  const decisions = new DecisionEngine(
    { environment: 'e', cluster },
    { heldRoles: () => ({ roles: ['r'], validFrom: -Infinity, validUntil: Infinity }) },
  );
  const engine = createEngine({ controllerUrls: [controllerUrl] });
  const app = await testApp({
    authorizer: authorizerOf(decisions),
    parts: { dataPlane: dataPlaneOf(engine) },
    register: async (scope) => {
      scope.addHook('onClose', () => engine.close());
      await engineProxy(scope, { engine });
    },
  });
  return { app, decisions };
}
