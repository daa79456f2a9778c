import type { FastifyReply, FastifyRequest } from 'fastify';
import type { IfMatch } from '../../access/manager/content-versions.ts';
import { isStoreError, PreconditionFailed } from '../../access/errors.ts';
import type { Srn } from '../../access/policy/srn.ts';
import { readRight } from '../../access/readable-text.ts';
import { write } from '../server/audited-write.ts';
import { ifMatchOf, requiresNone } from './conditional.ts';

/** Other writers may create and delete the resource between the attempts. */
const MAX_ATTEMPTS = 3;

/** The resource of a PUT, and how it is created and changed. */
export interface Target<T> {
  readonly kind: 'Role' | 'Policy';
  readonly name: string;
  readonly resource: Srn;
  /** Its version in the local view; undefined where there is none. */
  readonly version: () => string | undefined;
  readonly create: () => Promise<T>;
  readonly update: (ifMatch: IfMatch | undefined) => Promise<T>;
}

/**
 * Creates a resource that does not exist, with 201, and changes one that does.
 *
 * A caller without the right to create gets what a change of the resource gives, whether it exists. `If-Match` changes only, and
 * `If-None-Match: *` creates only.
 * @throws {HttpError} 400, 403 @throws {StoreError} of `create` and `update` @throws {PreconditionFailed}
 */
export async function createOrReplace<T>(request: FastifyRequest, reply: FastifyReply, target: Target<T>): Promise<T> {
  const { kind, name, resource } = target;
  const ifMatch = ifMatchOf(request);
  const onlyNew = requiresNone(request);
  const mayCreate =
    onlyNew ||
    (ifMatch === undefined && request.server.authorizer.wouldAllow(request.principal, `Create${kind}`, resource));
  const create = async (): Promise<T> => {
    const created = await write(request, `Create${kind}`, resource, target.create, { success: 201 });
    void reply.code(201);
    return created;
  };
  const update = (): Promise<T> => write(request, `Update${kind}`, resource, () => target.update(ifMatch));
  let exists = target.version() !== undefined;
  for (let attempt = 1; ; attempt++) {
    const creates = onlyNew || (mayCreate && !exists);
    try {
      return await (creates ? create() : update());
    } catch (error) {
      if (onlyNew && isStoreError(error, 'already-exists')) throw existsAlready(target);
      const isOvertaken = mayCreate && isStoreError(error, creates ? 'already-exists' : 'not-found');
      if (!isOvertaken || attempt === MAX_ATTEMPTS) throw error;
      exists = creates;
    }
  }

  function existsAlready({ version }: Target<T>): PreconditionFailed {
    return new PreconditionFailed(`\`${name}\``, version() ?? '', readRight(kind, name), 'If-None-Match');
  }
}
