/// <reference types="@fastify/swagger" />
import { SUBJECT, ASSIGNMENT } from './examples.ts';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { roleSortKey, sortKey } from '../../access/manager/assignment-list.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import type { AssignmentView } from '../../access/manager/views.ts';
import { assignmentsRight } from '../../access/readable-text.ts';
import { subjectTypeOf } from '../../access/policy/simulate.ts';
import { roleResource } from '../../access/policy/srn.ts';
import { assignmentUsageKey } from '../../access/usage/usage-keys.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { requireAllowed } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import { HONOURS_IF_MATCH, ifMatchOf } from './conditional.ts';
import {
  Assignment,
  AssignmentOfRole,
  AssignmentRequest,
  CreateAssignmentRequest,
  ReplaceAssignmentsRequest,
  SubjectListQuery,
} from './schemas/assignments.ts';
import { RoleParams } from './schemas/roles.ts';
import { ListQuery } from './schemas/shared.ts';
import { findPage, inTurn, jsonArray, sendJson, sendList } from './lists.ts';
import { write } from '../server/audited-write.ts';
import { responsesOf, listOf, mayRead, nameFromPath } from './support.ts';

interface RoleParameters {
  Params: { roleSrn: string };
}

const nameOf = (request: { params: { roleSrn: string } }): string =>
  nameFromPath('role', 'roleSrn', request.params.roleSrn);
const describe = (operationId: string, summary: string) => ({ operationId, summary, tags: ['roles'] });

export function assignmentRoutes(app: FastifyInstance, manager: RbacManager): void {
  const { assignmentList: list, assignmentSet: set, serviceTokens } = manager;
  const withLastUse = (role: string, view: AssignmentView) => {
    const { subject, subjectType: type } = view;
    const name = type === 'service-token' ? serviceTokens.objectName(subject) : subject;
    return manager.withLastUse(view, assignmentUsageKey(role, { type, name }));
  };
  const sendOfRole = (
    request: FastifyRequest,
    reply: FastifyReply,
    role: string,
    { items, version }: { readonly items: readonly AssignmentView[]; readonly version: string },
  ) => {
    // No 304: `status` changes by the time.
    void reply.header('etag', `"${version}"`);
    const view = (assignment: AssignmentView) => withLastUse(role, assignment);
    return sendJson(request, reply, jsonArray(items, { view, schema: Assignment }));
  };
  type Assign = RoleParameters & { Body: Static<typeof AssignmentRequest> };
  const schema = { params: RoleParams, response: responsesOf(Assignment, 400, 404, 409, 412) };

  app.post<RoleParameters & { Body: Static<typeof CreateAssignmentRequest> }>(
    '/roles/:roleSrn/create-assignment',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe(
          'createAssignment',
          'Assigns the role to a subject, permanently or until a time. Repeated, it replaces the time.',
        ),
        'x-docs': {
          ok: 'The assignment.',
          request: { ...SUBJECT, expiresAt: '2099-12-31T00:00:00Z' },
          response: ASSIGNMENT,
          versions: 'remove',
          links: {
            deleteAssignment: {
              operationId: 'deleteAssignment',
              description: 'Removes the role from the subject.',
              parameters: { roleSrn: '$request.path.roleSrn' },
              requestBody: { subject: '$response.body#/subject', subjectType: '$response.body#/subjectType' },
            },
          },
        },
        ...schema,
        body: CreateAssignmentRequest,
      },
    },
    async (request) => {
      const name = nameOf(request);
      const { expiresAt } = request.body;
      const subject = { ...subjectOf(request.body), ...(expiresAt ? { expiresAt } : {}) };
      const ifMatch = ifMatchOf(request);
      const view = await write(request, 'CreateAssignment', roleResource(name), () =>
        set.create(request.principal, name, subject, ifMatch),
      );
      // An assignment that existed before has an author and a time of its own.
      return mayRead(request, assignmentsRight(name)) ? view : { ...request.body, subjectType: view.subjectType };
    },
  );

  app.post<Assign>(
    '/roles/:roleSrn/delete-assignment',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('deleteAssignment', 'Deletes the assignment of the role to a subject. Idempotent.'),
        'x-docs': {
          ok: 'The assignment that was deleted; without times where there was none.',
          request: SUBJECT,
          response: ASSIGNMENT,
          versions: 'remove',
        },
        ...schema,
        body: AssignmentRequest,
      },
    },
    async (request) => {
      const name = nameOf(request);
      const subject = subjectOf(request.body);
      const ifMatch = ifMatchOf(request);
      return write(request, 'DeleteAssignment', roleResource(name), () =>
        set.delete(request.principal, name, subject, ifMatch),
      );
    },
  );

  app.get<RoleParameters & { Querystring: ListQuery }>(
    '/roles/:roleSrn/assignments',
    {
      schema: {
        ...describe('listAssignments', 'The subjects with the role.'),
        'x-docs': { ok: 'The subjects of the role.', response: [ASSIGNMENT], versions: 'tag' },
        params: RoleParams,
        querystring: ListQuery,
        response: responsesOf(listOf(Assignment), 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetAssignment', roleResource(name));
      const found = await findPage(request, reply, { find: (range) => list.ofRole(name, range), keyOf: sortKey });
      return sendOfRole(request, reply, name, found);
    },
  );

  app.put<RoleParameters & { Body: Static<typeof ReplaceAssignmentsRequest> }>(
    '/roles/:roleSrn/assignments',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('replaceAssignments', 'Assigns the role to exactly these subjects.'),
        'x-docs': {
          ok: 'The subjects of the role, which are now those of the body.',
          request: [
            { ...SUBJECT, expiresAt: '2099-12-31T00:00:00Z' },
            { subject: 'analysts', subjectType: 'group' },
          ],
          response: [ASSIGNMENT],
          versions: 'write',
        },
        params: RoleParams,
        body: ReplaceAssignmentsRequest,
        response: responsesOf(listOf(Assignment), 400, 404, 409, 412),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const resource = roleResource(name);
      const subjects = request.body.map(({ expiresAt, ...named }) => ({
        ...subjectOf(named),
        ...(expiresAt ? { expiresAt } : {}),
      }));
      const ifMatch = ifMatchOf(request);
      requireAllowed(request, 'GetAssignment', resource);
      requireAllowed(request, 'DeleteAssignment', resource);
      const replace = (): Promise<void> => set.replace(request.principal, name, subjects, ifMatch);
      const also = [{ action: 'DeleteAssignment', resource }];
      await write(request, 'CreateAssignment', resource, replace, { also });
      return sendOfRole(request, reply, name, await inTurn(request, reply, list.ofRole(name)));
    },
  );

  app.get<{ Querystring: SubjectListQuery }>(
    '/assignments',
    {
      schema: {
        ...describe(
          'listAllAssignments',
          'The assignments of all roles that the caller may read, or those of one subject, sorted by role.',
        ),
        'x-docs': { ok: 'The subjects of the roles.', response: [{ role: 'analysts', ...ASSIGNMENT }] },
        querystring: SubjectListQuery,
        response: responsesOf(listOf(AssignmentOfRole), 400),
      },
    },
    (request, reply) => {
      const only = subjectOfQuery(request.query);
      const readable = (role: string): boolean =>
        request.server.authorizer.isAllowed(request.principal, 'GetAssignment', roleResource(role));
      const mayReadAny = manager.directory.grantsOf(request.principal).mayAllow('GetAssignment', 'role');
      return sendList(request, reply, {
        find: (range) => list.ofRoles(mayReadAny ? readable : undefined, range, only),
        keyOf: roleSortKey,
        view: (assignment) => withLastUse(assignment.role, assignment),
        schema: AssignmentOfRole,
      });
    },
  );
}

/** @throws {HttpError} 400 if one of both is missing */
function subjectOfQuery({ subject, subjectType }: SubjectListQuery): Subject | undefined {
  if (subject === undefined && subjectType === undefined) return undefined;
  if (subject !== undefined && subjectType !== undefined) return subjectOf({ subject, subjectType });
  throw new HttpError(400, '`subject` and `subjectType` in the query string: send both or none');
}

function subjectOf({ subject, subjectType }: Static<typeof AssignmentRequest>): Subject {
  const type = subjectTypeOf(subjectType);
  if (type === undefined) throw new HttpError(400, `\`subjectType\` in the body: \`${subjectType}\` is not known`);
  return { type, name: subject };
}
