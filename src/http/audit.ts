import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Decision } from '../access/authorizer.ts';
import { formatSrn, type Srn } from '../access/srn.ts';

/** One structured record for each decision on a write and each denied call: who, what, on what, why. Never a credential. */
export function auditToLog(request: FastifyRequest, action: string, resource: Srn, decision: Decision): void {
  const { principal } = request;
  request.log.info(
    {
      audit: {
        principal: principal.srn,
        authenticator: principal.authenticator,
        action,
        resource: formatSrn(resource),
        decision: decision.allowed ? 'ALLOW' : 'DENY',
        reason: decision.reason,
        matchedStatements: decision.matchedStatements,
        method: request.method,
        route: request.routeOptions.url ?? '',
        clientAddress: request.ip,
      },
    },
    decision.allowed ? 'allowed' : 'denied',
  );
}

export type Audit = FastifyInstance['audit'];
