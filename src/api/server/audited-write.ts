import type { FastifyRequest } from 'fastify';
import { type Change, collectChanges } from '../../access/manager/changes.ts';
import { parseSrnOf, type Srn } from '../../access/policy/srn.ts';
import { knownError } from './app-errors.ts';
import type { About, WriteOutcome } from './audit.ts';
import { requireAllowed } from './context.ts';

interface WriteOptions extends Pick<WriteOutcome, 'called' | 'also'> {
  readonly success?: number;
  readonly shown?: string;
}

/**
 * Authorizes and runs a write, and records its outcome. Denials by the manager itself, such as an attempt to grant more than the caller has, are
 * outcomes, too.
 * @throws {HttpError} 503 where records are required and cannot be written; 429 where the caller has filled its share of the audit file
 * @param more `called`, if its route alone does not identify the change; `also`, other actions that the write required; `success`, the status of
 * its response, 200 by default; `shown`, what a refusal says in place of a resource that the request does not name in this spelling
 */
export async function write<T>(
  request: FastifyRequest,
  action: string,
  resource: Srn,
  work: () => Promise<T>,
  { success = 200, shown, ...more }: WriteOptions = {},
): Promise<T> {
  requireAllowed(request, action, resource, shown === undefined ? {} : { shown });
  const { authorizer, audit } = request.server;
  audit.requireWritable(request, 'access');
  const decision = authorizer.decide(request.principal, action, resource);
  const changes: Change[] = [];
  const record = (outcome: Pick<WriteOutcome, 'status' | 'message'>): void =>
    audit.written(request, {
      action,
      resource,
      decision,
      ...more,
      about: aboutOf(resource, request.body),
      ...(request.body === undefined ? {} : { asked: request.body }),
      changes,
      ...outcome,
    });
  try {
    const result = await collectChanges(changes, work);
    record({ status: success });
    return result;
  } catch (error) {
    const { statusCode: status, message } = knownError(error);
    record({ status, message });
    throw error;
  }
}

/** The fields of bodies that name other resources. */
interface NamingBody {
  readonly policySrn?: string;
  readonly subject?: string;
  readonly subjectType?: string;
}

/** The names that a write is about, from its resource and its body. */
function aboutOf({ levels }: Srn, body: unknown): About {
  const { policySrn, subject, subjectType } = (body ?? {}) as NamingBody;
  const target = levels.at(-1);
  const policy = policySrn === undefined ? undefined : parseSrnOf('policy', policySrn);
  return {
    ...(target?.kind === 'role' ? { role: target.id } : {}),
    ...(target?.kind === 'policy' ? { policy: target.id } : {}),
    ...(target?.kind === 'service-token' && target.id !== '*' ? { serviceToken: target.id } : {}),
    ...(policy?.ok === true ? { policy: policy.value } : {}),
    ...(subject === undefined || subjectType === undefined ? {} : { subject: { type: subjectType, name: subject } }),
  };
}
