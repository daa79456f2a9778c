/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import { actionProblem } from '../../access/policy/actions.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import { clusterResource, parseSrn, roleResource } from '../../access/policy/srn.ts';
import { whoCan } from '../../access/policy/who-can.ts';
import { requireAllowed } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import { answers } from './support.ts';

const MAX_SUBJECTS = 10_000;
const DEFAULT_SUBJECTS = 1000;

const WhoCanQuery = Type.Object(
  {
    action: Type.String({ minLength: 1, maxLength: 128, description: 'Name of the action, such as `Query`.' }),
    resource: Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Resource name, such as `srn2:table#events`.',
    }),
    limit: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: MAX_SUBJECTS,
        default: DEFAULT_SUBJECTS,
        description: 'Maximum number of subjects.',
      }),
    ),
  },
  { additionalProperties: false },
);
type WhoCanQuery = Static<typeof WhoCanQuery>;

const WhoCanAnswer = Type.Object(
  {
    total: Type.Integer({ description: 'Exact number of subjects.' }),
    subjects: Type.Array(
      Type.Object({
        subject: Type.String(),
        subjectType: Type.String(),
        role: Type.String({ description: 'Name of the role that allows it.' }),
        policy: Type.String({ description: 'Name of the policy with the statement that allows it.' }),
      }),
      {
        description:
          'One entry for each subject and each role whose assignments the caller may read. At most `limit` subjects, and the first 100 allowing statements of each.',
      },
    ),
  },
  { $id: 'WhoCan' },
);

/** `GET /who-can`: the reverse of simulate-access. */
export function whoCanRoutes(app: FastifyInstance, manager: RbacManager): void {
  app.get<{ Querystring: WhoCanQuery }>(
    '/who-can',
    {
      schema: {
        operationId: 'whoCan',
        tags: ['access'],
        summary: 'Which subjects may do an action on a resource, and by which roles.',
        querystring: WhoCanQuery,
        response: answers(WhoCanAnswer, 400),
      },
    },
    async (request): Promise<Static<typeof WhoCanAnswer>> => {
      requireAllowed(request, 'SimulateAccess', clusterResource);
      const { action, resource, limit = DEFAULT_SUBJECTS } = request.query;
      const parsed = parseSrn(resource);
      if (!parsed.ok) throw new HttpError(400, `\`resource\` in the query string: ${parsed.message}`);
      const problem = actionProblem(action);
      if (problem !== undefined) throw new HttpError(400, `\`action\` in the query string: ${problem}`);
      const { granted, total } = await whoCan(manager.directory, action, parsed.value, limit);
      // Assignments of a role are visible only with `GetAssignment` on it.
      const readable = (role: string): boolean =>
        request.server.authorizer.isAllowed(request.principal, 'GetAssignment', roleResource(role));
      const subjects = granted.flatMap(({ subject, by }) => {
        const roles = new Map(by.map(({ role, policy }) => [role ?? '', policy ?? '']));
        return [...roles]
          .filter(([role]) => readable(role))
          .map(([role, policy]) => ({ subject: subject.name, subjectType: subject.type, role, policy }));
      });
      return { total, subjects };
    },
  );
}
