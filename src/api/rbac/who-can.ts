/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import type { DecidingStatement } from '../../access/authorizer.ts';
import { nameOf } from '../../access/manager/list-part.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import { clusterResource, policyResource, roleResource, serviceTokenResource } from '../../access/policy/srn.ts';
import { type Granted, whoCan, type WhoCan } from '../../access/policy/who-can.ts';
import type { MayDo } from '../../access/readable-text.ts';
import type { Slices } from '../../platform/long-work.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { requireAllowed } from '../server/context.ts';
import { inTurn, jsonArray, sendJson } from './lists.ts';
import { readQuestions } from './questions.ts';
import { mayRead, responsesOf } from './support.ts';

const MAX_SUBJECTS = 10_000;
const DEFAULT_SUBJECTS = 1000;
const FIELDS = { action: '`action` in the query string', resource: '`resource` in the query string' };

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
  conditional: Type.Optional(
    Type.Literal(true, {
      description:
        'Present where only a part of the table may be read: the statement has conditions, and `Query` is not allowed without them.',
    }),
  ),
  role: Type.String({ description: 'Name of the role that gives it.' }),
  policy: Type.Optional(
    Type.String({
      description:
        'Name of the policy with the statement that allows it; absent where the caller may not read the policy.',
    }),
  ),
  statementIndex: Type.Optional(
    Type.Integer({ description: "With `policy`: position of that statement in the policy's statements, from 0." }),
  ),
};
const GrantedSubject = Type.Object({
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
});
type GrantedSubject = Static<typeof GrantedSubject>;
const Deciding = Type.Object(deciding);

const WhoCanAnswer = Type.Object(
  {
    total: Type.Integer({ description: 'Exact number of subjects.' }),
    subjects: Type.Array(GrantedSubject, {
      description:
        'One entry for each subject and each role whose assignments the caller may read. At most `limit` subjects, and the first 100 allowing statements of each.',
    }),
    totalRoles: Type.Integer({
      description: 'Exact number of roles that allow it, of those that the caller may read.',
    }),
    roles: Type.Array(Deciding, {
      description:
        'The roles that allow it, assigned or not, of those that the caller may read; by name, at most `limit`. A deny in another role of a subject can still forbid it.',
    }),
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
        'x-docs': {
          ok: 'The subjects that may perform the action, and the roles that allow it.',
          response: { total: 0, subjects: [], totalRoles: 0, roles: [] },
        },
        tags: ['access'],
        summary: 'Which roles allow an action on a resource, and which subjects have it by them.',
        querystring: WhoCanQuery,
        response: responsesOf(WhoCanAnswer, 400),
      },
    },
    async (request, reply) => {
      requireAllowed(request, 'SimulateAccess', clusterResource);
      const { action, resource, limit = DEFAULT_SUBJECTS } = request.query;
      const [question] = await readQuestions(manager, [{ action, resource }], FIELDS);
      const { principal } = request;
      const may: MayDo = (verb, on) => mayRead(request, { action: verb, resource: on });
      function* find(): Slices<WhoCan> {
        const { items } = yield* manager.roles.list(principal);
        return yield* whoCan(manager.directory, { ...question!, limit, roleNames: items.map(nameOf) });
      }
      const found = await inTurn(request, reply, find());
      return sendJson(
        request,
        reply,
        responseOf(found, may, (granted) => grantedViews(manager, granted, may)),
      );
    },
  );
}

function* responseOf(
  found: WhoCan,
  may: MayDo,
  views: (granted: Granted) => readonly GrantedSubject[],
): Iterable<string> {
  yield `{"total":${found.total},"subjects":`;
  const subjects = found.granted.values().flatMap(views);
  yield* jsonArray(subjects, { view: (entry) => entry, schema: GrantedSubject });
  yield `,"totalRoles":${found.totalRoles},"roles":`;
  yield* jsonArray(found.roles, {
    view: ({ by, conditional }) => decidingView(by, conditional, may),
    schema: Deciding,
  });
  yield '}';
}

function grantedViews(manager: RbacManager, { subject, roles }: Granted, may: MayDo): GrantedSubject[] {
  const view = subjectView(manager, subject, may);
  const readable = roles.filter(({ role }) => may('GetAssignment', roleResource(role)));
  return readable.map(({ by, conditional, expiry }) => {
    const expiresAt = expiry === Infinity ? null : new Date(expiry).toISOString();
    return Object.assign({ expiresAt }, view, decidingView(by, conditional, may));
  });
}

function decidingView({ role, policy, statementIndex }: DecidingStatement, conditional: boolean, may: MayDo) {
  const isReadable = policy !== undefined && may('GetPolicy', policyResource(policy));
  return { role: role ?? '', ...(isReadable && { policy, statementIndex }), ...(conditional && { conditional }) };
}

/** A service token is shown by its access key, with its description. */
function subjectView(
  { directory }: RbacManager,
  { type, name }: Subject,
  may: MayDo,
): Pick<GrantedSubject, 'subject' | 'subjectType' | 'description'> {
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
