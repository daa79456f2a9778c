import type { FastifyRequest } from 'fastify';
import type { Authorizer, Decision } from '../access/authorizer.ts';
import type { Principal } from '../access/principal.ts';
import { formatSrn, type Srn } from '../access/srn.ts';
import { HttpError } from './errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authentication hook before any handler of a route that is not public. */
    principal: Principal;
  }
  interface FastifyInstance {
    authorizer: Authorizer;
    /** Told of every denied call and of each decision on a write; writes the audit record and counts. */
    audit: (request: FastifyRequest, action: string, resource: Srn, decision: Decision) => void;
  }
  interface FastifyContextConfig {
    /** True for routes that anyone may call without a credential. */
    public?: boolean;
  }
}

/**
 * Ends the request with 403 unless the caller's roles allow `action` on `resource`.
 * @param options.write true where the call changes something: the decision is audited even when it is an allow
 * @throws {HttpError} 403
 */
export function requireAllowed(
  request: FastifyRequest,
  action: string,
  resource: Srn,
  options: { write?: boolean } = {},
): void {
  const { authorizer, audit } = request.server;
  if (!options.write && authorizer.isAllowed(request.principal, action, resource)) return;
  const decision = authorizer.decide(request.principal, action, resource);
  audit(request, action, resource, decision);
  if (!decision.allowed) throw new HttpError(403, deniedMessage(request.principal, action, resource, decision));
}

function deniedMessage(principal: Principal, action: string, resource: Srn, decision: Decision): string {
  const target = resource.levels.length === 0 ? 'the cluster' : `\`${formatSrn(resource)}\``;
  const why =
    decision.reason === 'explicitDeny'
      ? 'a statement of its roles denies it'
      : decision.reason === 'invalidPolicy'
        ? 'a policy of its roles cannot be read, and such a policy denies everything'
        : 'no statement of its roles allows it';
  return `\`${principal.srn}\` may not \`${action}\` on ${target}: ${why}`;
}
