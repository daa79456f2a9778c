import type { Decision } from '../../../access/authorizer.ts';
import { formatSrn, type Srn } from '../../../access/policy/srn.ts';
import type { RequestContext } from '../context.ts';

/** Logs one structured record: principal, action, resource, decision and reason. It contains no credential. */
export function auditToLog(request: RequestContext, action: string, resource: Srn, decision: Decision): void {
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
