/// <reference types="@fastify/swagger" />
import { ROLE, SUMMARY, ROLE_LINKS } from './examples.ts';
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { nameOf as nameOfObject } from '../../access/manager/list-part.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import { policySummary, roleView } from '../../access/manager/views.ts';
import { roleUsageKey } from '../../access/usage/usage-keys.ts';
import { readRight } from '../../access/readable-text.ts';
import { roleResource } from '../../access/policy/srn.ts';
import { requireAllowed } from '../server/context.ts';
import { HONOURS_IF_MATCH, ifMatchOf, sendTagged } from './conditional.ts';
import { createOrReplace } from './create-or-replace.ts';
import { PolicySummary } from './schemas/policies.ts';
import {
  AttachPolicyRequest,
  CreateRoleRequest,
  Role,
  RoleParams,
  UpdateRoleRequest,
  WrittenRole,
} from './schemas/roles.ts';
import { ListQuery, NamedListQuery } from './schemas/shared.ts';
import { sendList } from './lists.ts';
import { write } from '../server/audited-write.ts';
import { responsesOf, Empty, listOf, nameFrom, nameFromPath, newOf, requireSameSrn, writtenView } from './support.ts';

interface RolePath {
  Params: { roleSrn: string };
}

const nameOf = (request: { params: { roleSrn: string } }): string =>
  nameFromPath('role', 'roleSrn', request.params.roleSrn);
const describe = (operationId: string, summary: string) => ({ operationId, summary, tags: ['roles'] });

export function roleRoutes(app: FastifyInstance, manager: RbacManager): void {
  const { roles } = manager;

  app.post<{ Body: Static<typeof CreateRoleRequest> }>(
    '/roles',
    {
      schema: {
        ...describe('createRole', 'Creates a role without policies.'),
        'x-docs': {
          ok: 'The new role.',
          request: { name: 'analysts', description: 'Reads events' },
          response: ROLE,
          versions: 'tag',
          links: ROLE_LINKS,
        },
        body: CreateRoleRequest,
        response: responsesOf(Role, 400, 409),
      },
    },
    async (request, reply) => {
      const created = await write(request, 'CreateRole', roleResource(request.body.name), () =>
        roles.create(request.principal, request.body),
      );
      return sendTagged(request, reply, created);
    },
  );

  app.get<{ Querystring: NamedListQuery }>(
    '/roles',
    {
      schema: {
        ...describe('listRoles', 'The roles that the caller may read, by name.'),
        'x-docs': { ok: 'The roles.', response: [ROLE] },
        querystring: NamedListQuery,
        response: responsesOf(listOf(Role), 400),
      },
    },
    (request, reply) =>
      sendList(request, reply, {
        find: (range) => roles.list(request.principal, { ...range, name: request.query.name }),
        keyOf: nameOfObject,
        view: (role) => manager.withLastUse(roleView(role), roleUsageKey(role.metadata.name)),
        schema: Role,
      }),
  );

  app.get<RolePath>(
    '/roles/:roleSrn',
    {
      schema: {
        ...describe('getRole', 'One role.'),
        'x-docs': { ok: 'The role.', response: ROLE, versions: 'read' },
        params: RoleParams,
        response: responsesOf(Role, 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetRole', roleResource(name));
      return sendTagged(request, reply, manager.withLastUse(roles.get(name), roleUsageKey(name)));
    },
  );

  app.put<RolePath & { Body: Static<typeof UpdateRoleRequest> }>(
    '/roles/:roleSrn',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe(
          'updateRole',
          'Creates a role without policies, or changes the description of an existing one. Idempotent.',
        ),
        'x-docs': {
          ok: 'The role, changed or as it was.',
          request: { description: 'Reads events' },
          response: ROLE,
          created: { ok: 'The new role.', response: ROLE },
          versions: 'put',
          links: { getRole: ROLE_LINKS.getRole, deleteRole: ROLE_LINKS.deleteRole },
        },
        params: RoleParams,
        body: UpdateRoleRequest,
        response: { ...responsesOf(WrittenRole, 400, 404, 409, 412), 201: WrittenRole },
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireSameSrn('role', name, request.body.srn);
      const { principal, body } = request;
      const written = await createOrReplace(request, reply, {
        kind: 'Role',
        name,
        resource: roleResource(name),
        version: () => roles.version(name),
        create: () => roles.create(principal, newOf(name, body)),
        update: (ifMatch) => roles.update(principal, name, body, ifMatch),
      });
      return sendTagged(request, reply, writtenView(request, readRight('Role', name), written));
    },
  );

  app.delete<RolePath>(
    '/roles/:roleSrn',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('deleteRole', 'Deletes a role without assignments.'),
        'x-docs': { ok: 'The role is deleted. The body is empty.', versions: 'remove' },
        params: RoleParams,
        response: responsesOf(Empty, 400, 404, 409, 412),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const ifMatch = ifMatchOf(request);
      await write(request, 'DeleteRole', roleResource(name), () => roles.remove(name, ifMatch));
      return reply.send();
    },
  );

  attachmentRoutes(app, manager);
}

function attachmentRoutes(app: FastifyInstance, { roles }: RbacManager): void {
  type Attach = RolePath & { Body: Static<typeof AttachPolicyRequest> };
  const schema = {
    params: RoleParams,
    body: AttachPolicyRequest,
    response: responsesOf(WrittenRole, 400, 404, 409, 412),
  };
  const policyOf = (body: Attach['Body']): string => nameFrom('policy', '`policySrn` in the body', body.policySrn);

  app.post<Attach>(
    '/roles/:roleSrn/attach-policy',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('attachPolicy', 'Attaches a policy to a role. Idempotent.'),
        'x-docs': {
          ok: 'The role, which now has the policy.',
          request: { policySrn: SUMMARY.srn },
          response: ROLE,
          versions: 'write',
          links: { listRolePolicies: ROLE_LINKS.listRolePolicies },
        },
        ...schema,
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const policy = policyOf(request.body);
      const ifMatch = ifMatchOf(request);
      const role = await write(request, 'AttachPolicy', roleResource(name), () =>
        roles.attach(request.principal, name, policy, ifMatch),
      );
      return sendTagged(request, reply, writtenView(request, readRight('Role', name), role));
    },
  );

  app.post<Attach>(
    '/roles/:roleSrn/detach-policy',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('detachPolicy', 'Detaches a policy from a role. Idempotent.'),
        'x-docs': {
          ok: 'The role, which no longer has the policy.',
          request: { policySrn: SUMMARY.srn },
          response: ROLE,
          versions: 'write',
          links: { deleteRole: ROLE_LINKS.deleteRole },
        },
        ...schema,
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const policy = policyOf(request.body);
      const ifMatch = ifMatchOf(request);
      const role = await write(request, 'DetachPolicy', roleResource(name), () =>
        roles.detach(request.principal, name, policy, ifMatch),
      );
      return sendTagged(request, reply, writtenView(request, readRight('Role', name), role));
    },
  );

  app.get<RolePath & { Querystring: ListQuery }>(
    '/roles/:roleSrn/policies',
    {
      schema: {
        ...describe('listRolePolicies', 'The policies of a role that the caller may read, by name.'),
        'x-docs': { ok: 'The policies of the role.', response: [SUMMARY] },
        params: RoleParams,
        querystring: ListQuery,
        response: responsesOf(listOf(PolicySummary), 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetRole', roleResource(name));
      return sendList(request, reply, {
        find: (range) => roles.policies(request.principal, name, range),
        keyOf: nameOfObject,
        view: policySummary,
        schema: PolicySummary,
      });
    },
  );
}
