import { Type, type TSchema } from 'typebox';
import type { FastifyRequest } from 'fastify';
import type { Reference, Versioned } from '../../access/manager/views.ts';
import type { ReadRight } from '../../access/readable-text.ts';
import type { SrnKind } from '../../access/policy/srn.ts';
import { parseSrnOf, srnText } from '../../access/policy/srn.ts';
import { ErrorBody, HttpError } from '../server/errors.ts';

/** The documented responses of a route: 200, 401, 403 and the given errors. */
export function responsesOf<T extends TSchema>(ok: T, ...errors: (400 | 404 | 409 | 412)[]) {
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

/** Whether the caller may read something, for what a response or a message shows: it is not counted as a use of the right. */
export function mayRead(request: FastifyRequest, { action, resource }: ReadRight): boolean {
  return request.server.authorizer.wouldAllow(request.principal, action, resource);
}

/**
 * What a write returns: the resource where the caller may read it, otherwise its name and SRN. A write that changes nothing would show the version,
 * too.
 */
export function writtenView<T extends Reference & Versioned>(
  request: FastifyRequest,
  right: ReadRight,
  view: T,
): T | (Reference & Partial<Versioned>) {
  const { name, srn } = view;
  return mayRead(request, right) ? view : { name, srn };
}

/** The `srn` of a body that GET returned cannot be changed. @throws {HttpError} 400 */
export function requireSameSrn(kind: 'role' | 'policy', name: string, sent: string | undefined): void {
  if (sent === undefined || sent === srnText(kind, name)) return;
  throw new HttpError(
    400,
    `\`srn\` in the body: must be \`${srnText(kind, name)}\`, the resource of the path, or absent`,
  );
}

/** The body of a PUT for a resource that does not exist yet, whose name is in the path. @throws {HttpError} 400 */
export function newOf<T extends { readonly name?: string }>(name: string, body: T): T & { readonly name: string } {
  if (body.name === undefined || body.name === name) return { ...body, name };
  throw new HttpError(400, `\`name\` in the body: must be \`${name}\`, the name in the path, or absent`);
}

/** Maximum bytes of a body with a policy document. Larger ones would block the event loop for more than 50 ms. */
export const POLICY_BODY_BYTES = 512 * 1024;
