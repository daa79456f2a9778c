import type { FastifyInstance } from 'fastify';
import type { Principal } from '../../access/principal.ts';
import type { Login } from '../server/audit.ts';

/** By method and route. A `POST /ui/session` without a valid token has the record of a failed login already. */
const RECORDED: ReadonlyMap<string, Login['action']> = new Map([
  ['POST /ui/session', 'SignIn'],
  ['POST /ui/session/oidc', 'SignIn'],
  ['DELETE /ui/session', 'SignOut'],
]);

/** Writes a record of each sign-in at the dashboard and of each sign-out of a known user. */
export function recordSignIns(app: FastifyInstance): void {
  app.addHook('onResponse', async (request, reply) => {
    const action = RECORDED.get(`${request.method} ${request.routeOptions.url}`);
    const principal = (request.principal as Principal | null) ?? undefined;
    const isPublic = request.routeOptions.config.public === true;
    if (action === undefined || (principal === undefined && (action === 'SignOut' || !isPublic))) return;
    request.server.audit.login(request, { action, status: reply.statusCode, principal });
  });
}
