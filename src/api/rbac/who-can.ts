/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import { actionProblem } from '../../access/policy/actions.ts';
import type { MatchedStatement } from '../../access/authorizer.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import { clusterResource, parseSrn, roleResource, serviceTokenResource, type Srn } from '../../access/policy/srn.ts';
import { whoCan } from '../../access/policy/who-can.ts';
import { ANY_ACTION } from '../../pinot/action-names.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { requireAllowed } from '../server/context.ts';
import { HttpError } from '../server/errors.ts';
import { answers } from './support.ts';

const MAX_SUBJECTS = 10_000;
const DEFAULT_SUBJECTS = 1000;

const WhoCanQuery = Type.Object(
  {
    action: Type.String({
      minLength: 1,
      maxLength: 128,
      description: 'Name of the action, such as `Query`; `*` for every action.',
    }),
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
        description: 'Maximum number of subjects, and of roles.',
      }),
    ),
  },
  { additionalProperties: false },
);
type WhoCanQuery = Static<typeof WhoCanQuery>;

const deciding = {
  role: Type.String({ description: 'Name of the role that gives it.' }),
  policy: Type.String({ description: 'Name of the policy with the statement that allows it.' }),
  statementIndex: Type.Integer({ description: "Position of that statement in the policy's statements, from 0." }),
};
const WhoCanAnswer = Type.Object(
  {
    total: Type.Integer({ description: 'Exact number of subjects.' }),
    subjects: Type.Array(
      Type.Object({
        subject: Type.String({ description: 'As in assignments; the access key of a service token.' }),
        subjectType: Type.String(),
        description: Type.Optional(
          Type.String({ description: 'Description of the service token, where the caller may read it.' }),
        ),
        ...deciding,
        expiresAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], {
          description:
            'Expiry time of the assignment, or of the service token if that is earlier, ISO 8601 with offset; null if neither expires.',
        }),
      }),
      {
        description:
          'One entry for each subject and each role whose assignments the caller may read. At most `limit` subjects, and the first 100 allowing statements of each.',
      },
    ),
    totalRoles: Type.Integer({
      description: 'Exact number of roles that allow it, of those that the caller may read.',
    }),
    roles: Type.Array(Type.Object(deciding), {
      description:
        'The roles that allow it, assigned or not, of those that the caller may read; by name, at most `limit`. A deny in another role of a subject can still forbid it.',
    }),
  },
  { $id: 'WhoCan' },
);
type WhoCanAnswer = Static<typeof WhoCanAnswer>;

/** `GET /who-can`: the reverse of simulate-access. */
export function whoCanRoutes(app: FastifyInstance, manager: RbacManager): void {
  app.get<{ Querystring: WhoCanQuery }>(
    '/who-can',
    {
      schema: {
        operationId: 'whoCan',
        tags: ['access'],
        summary: 'Which roles allow an action on a resource, and which subjects have it by them.',
        querystring: WhoCanQuery,
        response: answers(WhoCanAnswer, 400),
      },
    },
    async (request): Promise<WhoCanAnswer> => {
      requireAllowed(request, 'SimulateAccess', clusterResource);
      const { action, resource, limit = DEFAULT_SUBJECTS } = request.query;
      const parsed = parseSrn(resource);
      if (!parsed.ok) throw new HttpError(400, `\`resource\` in the query string: ${parsed.message}`);
      const problem = action === ANY_ACTION ? undefined : actionProblem(action);
      if (problem !== undefined) throw new HttpError(400, `\`action\` in the query string: ${problem}`);
      const may = (verb: string, on: Srn): boolean => request.server.authorizer.isAllowed(request.principal, verb, on);
      const roleNames = manager.roles.list(request.principal).map(({ name }) => name);
      const found = await whoCan(manager.directory, { action, resource: parsed.value, limit, roleNames });
      return {
        total: found.total,
        subjects: found.granted.flatMap(({ subject, roles }) => {
          const view = subjectView(manager, subject, may);
          const readable = roles.filter(({ role }) => may('GetAssignment', roleResource(role)));
          return readable.map(({ by, expiry }) => {
            const expiresAt = expiry === Infinity ? null : new Date(expiry).toISOString();
            return Object.assign({ expiresAt }, view, decidingView(by));
          });
        }),
        totalRoles: found.totalRoles,
        roles: found.roles.map(({ by }) => decidingView(by)),
      };
    },
  );
}

function decidingView({ role, policy, statementIndex }: MatchedStatement) {
  return { role: role ?? '', policy: policy ?? '', statementIndex };
}

/** A service token is shown by its access key, with its description. */
function subjectView(
  { directory }: RbacManager,
  { type, name }: Subject,
  may: (action: string, resource: Srn) => boolean,
): Pick<WhoCanAnswer['subjects'][number], 'subject' | 'subjectType' | 'description'> {
  if (type !== 'service-token') return { subject: name, subjectType: type };
  const token = directory.tokenByName(directory.tokenNameOf(name) ?? name);
  const description = token?.token.spec.description;
  const readable = token !== undefined && may('GetServiceToken', serviceTokenResource(token.name));
  return {
    subject: token?.accessKey ?? name,
    subjectType: type,
    ...(readable && description !== undefined ? { description } : {}),
  };
}
