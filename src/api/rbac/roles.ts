/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { RbacManager } from '../../access/manager/manager.ts';
import { roleSortKey, sortKey } from '../../access/manager/assignment-list.ts';
import type { AssignmentView } from '../../access/manager/views.ts';
import { assignmentUsageKey, roleUsageKey } from '../../access/usage/usage-keys.ts';
import { subjectTypeOf } from '../../access/policy/simulate.ts';
import { roleResource } from '../../access/policy/srn.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { requireAllowed } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import { HONOURS_IF_MATCH, ifMatchOf, sendTagged } from './conditional.ts';
import { Assignment, AssignmentOfRole, AssignmentRequest, CreateAssignmentRequest } from './schemas/assignments.ts';
import { PolicySummary } from './schemas/policies.ts';
import { AttachPolicyRequest, CreateRoleRequest, Role, RoleParams, UpdateRoleRequest } from './schemas/roles.ts';
import { ListQuery } from './schemas/shared.ts';
import { answers, Empty, listOf, nameFrom, nameFromPath, page, requireSameSrn, write } from './support.ts';

interface ByRole {
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
        body: CreateRoleRequest,
        response: answers(Role, 400, 409),
      },
    },
    async (request, reply) => {
      const created = await write(request, 'CreateRole', roleResource(request.body.name), () =>
        roles.create(request.principal, request.body),
      );
      return sendTagged(request, reply, created);
    },
  );

  app.get<{ Querystring: ListQuery }>(
    '/roles',
    {
      schema: {
        ...describe('listRoles', 'The roles that the caller may read, by name.'),
        querystring: ListQuery,
        response: answers(listOf(Role), 400),
      },
    },
    async (request, reply) =>
      page(request, reply, roles.list(request.principal), ({ name }) => name).map((role) =>
        manager.withLastUse(role, roleUsageKey(role.name)),
      ),
  );

  app.get<ByRole>(
    '/roles/:roleSrn',
    { schema: { ...describe('getRole', 'One role.'), params: RoleParams, response: answers(Role, 400, 404) } },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetRole', roleResource(name));
      return sendTagged(request, reply, manager.withLastUse(roles.get(name), roleUsageKey(name)));
    },
  );

  app.put<ByRole & { Body: Static<typeof UpdateRoleRequest> }>(
    '/roles/:roleSrn',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('updateRole', 'Changes the description of a role.'),
        params: RoleParams,
        body: UpdateRoleRequest,
        response: answers(Role, 400, 404, 409, 412),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireSameSrn('role', name, request.body.srn);
      const ifMatch = ifMatchOf(request);
      const updated = await write(request, 'UpdateRole', roleResource(name), () =>
        roles.update(request.principal, name, request.body, ifMatch),
      );
      return sendTagged(request, reply, updated);
    },
  );

  app.delete<ByRole>(
    '/roles/:roleSrn',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('deleteRole', 'Deletes a role without assignments.'),
        params: RoleParams,
        response: answers(Empty, 400, 404, 409, 412),
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
  assignmentRoutes(app, manager);
}

function attachmentRoutes(app: FastifyInstance, { roles }: RbacManager): void {
  type Attach = ByRole & { Body: Static<typeof AttachPolicyRequest> };
  const schema = { params: RoleParams, body: AttachPolicyRequest, response: answers(Role, 400, 404, 409, 412) };
  const policyOf = (body: Attach['Body']): string => nameFrom('policy', '`policySrn` in the body', body.policySrn);

  app.post<Attach>(
    '/roles/:roleSrn/attach-policy',
    {
      ...HONOURS_IF_MATCH,
      schema: { ...describe('attachPolicy', 'Attaches a policy to a role. Idempotent.'), ...schema },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const policy = policyOf(request.body);
      const ifMatch = ifMatchOf(request);
      const role = await write(request, 'AttachPolicy', roleResource(name), () =>
        roles.attach(request.principal, name, policy, ifMatch),
      );
      return sendTagged(request, reply, role);
    },
  );

  app.post<Attach>(
    '/roles/:roleSrn/detach-policy',
    {
      ...HONOURS_IF_MATCH,
      schema: { ...describe('detachPolicy', 'Detaches a policy from a role. Idempotent.'), ...schema },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const policy = policyOf(request.body);
      const ifMatch = ifMatchOf(request);
      const role = await write(request, 'DetachPolicy', roleResource(name), () =>
        roles.detach(request.principal, name, policy, ifMatch),
      );
      return sendTagged(request, reply, role);
    },
  );

  app.get<ByRole & { Querystring: ListQuery }>(
    '/roles/:roleSrn/policies',
    {
      schema: {
        ...describe('listRolePolicies', 'The policies of a role that the caller may read, by name.'),
        params: RoleParams,
        querystring: ListQuery,
        response: answers(listOf(PolicySummary), 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetRole', roleResource(name));
      return page(request, reply, roles.policies(request.principal, name), (policy) => policy.name);
    },
  );
}

function assignmentRoutes(app: FastifyInstance, manager: RbacManager): void {
  const { assignments, serviceTokens } = manager;
  const withLastUse = (role: string, view: AssignmentView) => {
    const { subject, subjectType: type } = view;
    const name = type === 'service-token' ? serviceTokens.objectName(subject) : subject;
    return manager.withLastUse(view, assignmentUsageKey(role, { type, name }));
  };
  type Assign = ByRole & { Body: Static<typeof AssignmentRequest> };
  const schema = { params: RoleParams, response: answers(Assignment, 400, 404, 409) };

  app.post<ByRole & { Body: Static<typeof CreateAssignmentRequest> }>(
    '/roles/:roleSrn/create-assignment',
    {
      schema: {
        ...describe(
          'createAssignment',
          'Assigns the role to a subject, permanently or until a time. Repeated, it replaces the time.',
        ),
        ...schema,
        body: CreateAssignmentRequest,
      },
    },
    (request) => {
      const name = nameOf(request);
      const { expiresAt } = request.body;
      const subject = { ...subjectOf(request.body), ...(expiresAt ? { expiresAt } : {}) };
      return write(request, 'CreateAssignment', roleResource(name), () =>
        assignments.create(request.principal, name, subject),
      );
    },
  );

  app.post<Assign>(
    '/roles/:roleSrn/delete-assignment',
    {
      schema: {
        ...describe('deleteAssignment', 'Deletes the assignment of the role to a subject. Idempotent.'),
        ...schema,
        body: AssignmentRequest,
      },
    },
    (request) => {
      const name = nameOf(request);
      const subject = subjectOf(request.body);
      return write(request, 'DeleteAssignment', roleResource(name), () =>
        assignments.delete(request.principal, name, subject),
      );
    },
  );

  app.get<ByRole & { Querystring: ListQuery }>(
    '/roles/:roleSrn/assignments',
    {
      schema: {
        ...describe('listAssignments', 'The subjects with the role.'),
        params: RoleParams,
        querystring: ListQuery,
        response: answers(listOf(Assignment), 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetAssignment', roleResource(name));
      return page(request, reply, assignments.list(name), sortKey).map((view) => withLastUse(name, view));
    },
  );

  app.get<{ Querystring: ListQuery }>(
    '/assignments',
    {
      schema: {
        ...describe('listAllAssignments', 'The assignments of all roles that the caller may read, sorted by role.'),
        querystring: ListQuery,
        response: answers(listOf(AssignmentOfRole), 400),
      },
    },
    async (request, reply) => {
      const readable = (role: string): boolean =>
        request.server.authorizer.isAllowed(request.principal, 'GetAssignment', roleResource(role));
      return page(request, reply, assignments.listAll(readable), roleSortKey).map((view) =>
        withLastUse(view.role, view),
      );
    },
  );
}

function subjectOf({ subject, subjectType }: Static<typeof AssignmentRequest>): Subject {
  const type = subjectTypeOf(subjectType);
  if (type === undefined) throw new HttpError(400, `\`subjectType\` in the body: \`${subjectType}\` is not known`);
  return { type, name: subject };
}
