import type { FastifyRequest } from 'fastify';
import { Type, type TSchema } from 'typebox';
import type { Srn, SrnKind } from '../../access/policy/srn.ts';
import { parseSrnOf, srnText } from '../../access/policy/srn.ts';
import { type Change, collectChanges } from '../../access/manager/changes.ts';
import { knownError } from '../server/app-errors.ts';
import type { About, WriteOutcome } from '../server/logs/audit.ts';
import type { Called } from '../server/pending-writes.ts';
import { requireAllowed } from '../server/context.ts';
import { ErrorBody, HttpError } from '../server/errors.ts';
import type { AssignmentRequest } from './schemas/assignments.ts';
import type { AttachPolicyRequest } from './schemas/roles.ts';

/** The documented responses of a route: 200, 401, 403 and the given errors. */
export function answers<T extends TSchema>(ok: T, ...errors: (400 | 404 | 409 | 412)[]) {
  const documented = Object.fromEntries(errors.map((status) => [status, ErrorBody]));
  return { 200: ok, 401: ErrorBody, 403: ErrorBody, ...documented };
}

/** A 200 without a body. */
export const Empty = Type.Null({ description: 'Done; the body is empty.' });

/** Schema of a list with pagination by `limit`. */
export function listOf(item: TSchema) {
  return Type.Array(item, {
    headers: {
      link: {
        type: 'string',
        description: 'With `limit`: the URL of the next page, `rel="next"`; absent on the last page.',
      },
    },
  });
}

/** The name in a path parameter. @throws {HttpError} 400 */
export function nameFromPath(kind: SrnKind, parameter: string, text: string): string {
  return nameFrom(kind, `\`${parameter}\` in the path`, text);
}

/** @throws {HttpError} 400 */
export function nameFrom(kind: SrnKind, place: string, text: string): string {
  const parsed = parseSrnOf(kind, text);
  if (!parsed.ok) throw new HttpError(400, `${place}: ${parsed.message}`);
  return parsed.value;
}

/** The `srn` of a body that GET returned cannot be changed. @throws {HttpError} 400 */
export function requireSameSrn(kind: 'role' | 'policy', name: string, sent: string | undefined): void {
  if (sent === undefined || sent === srnText(kind, name)) return;
  throw new HttpError(
    400,
    `\`srn\` in the body: must be \`${srnText(kind, name)}\`, the resource of the path, or absent`,
  );
}

/**
 * Authorizes and runs a write, and records its outcome. Denials by the manager itself, such as an attempt to grant more than the caller has, are
 * outcomes, too.
 * @throws {HttpError} 503 where records are required and cannot be written
 * @param called the call, if its route alone does not identify the change
 */
export async function write<T>(
  request: FastifyRequest,
  action: string,
  resource: Srn,
  work: () => Promise<T>,
  called?: Called,
): Promise<T> {
  requireAllowed(request, action, resource);
  const { authorizer, audit } = request.server;
  audit.requireWritable();
  const decision = authorizer.decide(request.principal, action, resource);
  const changes: Change[] = [];
  const record = (outcome: Pick<WriteOutcome, 'status' | 'message'>): void =>
    audit.written(request, {
      action,
      resource,
      decision,
      ...(called === undefined ? {} : { called }),
      about: aboutOf(resource, request.body),
      ...(request.body === undefined ? {} : { asked: request.body }),
      changes,
      ...outcome,
    });
  try {
    const result = await collectChanges(changes, work);
    record({ status: 200 });
    return result;
  } catch (error) {
    const { statusCode: status, message } = knownError(error);
    record({ status, message });
    throw error;
  }
}

/** The names that a write is about, from its resource and its body. */
function aboutOf({ levels }: Srn, body: unknown): About {
  const { policySrn, subject, subjectType } = (body ?? {}) as AttachPolicyRequest & AssignmentRequest;
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

/** Maximum bytes of a body with a policy document. Larger ones would block the event loop for more than 50 ms. */
export const POLICY_BODY_BYTES = 512 * 1024;
