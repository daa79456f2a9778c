/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import type { RbacManager } from '../../access/manager/manager.ts';
import { policyResource, roleResource, serviceTokenResource } from '../../access/policy/srn.ts';
import {
  accessReview,
  REVIEWED_KINDS,
  reviewKey,
  type ReviewPorts,
  type Unused,
} from '../../access/usage/access-review.ts';
import { formatDay } from '../../access/usage/usage-record.ts';
import { SUBJECT_TYPES } from '../../resources/role-assignment.ts';
import { StringEnum } from '../../resources/schema.ts';
import { HttpError } from '../server/errors.ts';
import { ListQuery } from './schemas/shared.ts';
import { findPage, jsonArray, sendJson } from './lists.ts';
import { responsesOf } from './support.ts';

const DEFAULT_DAYS = 90;
const MAX_DAYS = 3650;

const ReviewQuery = Type.Object({
  ...ListQuery.properties,
  unusedDays: Type.Optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_DAYS,
      default: DEFAULT_DAYS,
      description: 'Minimum number of days without use.',
    }),
  ),
});
type ReviewQuery = Static<typeof ReviewQuery>;

const Day = (description: string) => Type.String({ format: 'date', description: `${description} (UTC).` });

const UnusedEntry = Type.Object({
  kind: StringEnum(REVIEWED_KINDS),
  role: Type.Optional(Type.String({ description: 'Of a role or an assignment.' })),
  policy: Type.Optional(Type.String({ description: 'Policy of a statement.' })),
  statementIndex: Type.Optional(Type.Integer({ description: "Position in the policy's statements, from 0." })),
  subject: Type.Optional(
    Type.String({ description: 'Of an assignment or a service token; a service token by its access key.' }),
  ),
  subjectType: Type.Optional(StringEnum(SUBJECT_TYPES)),
  serviceToken: Type.Optional(Type.String({ description: 'Name of the service token.' })),
  description: Type.Optional(Type.String()),
  lastUsedAt: Type.Union([Day('Day of the last use'), Type.Null()], {
    description: 'Null if no use is recorded.',
  }),
  unusedSince: Day(
    'First day of the period without use: the day after the last use, but not before the creation (of a statement: the last change of its policy) and not before `trackedSince`',
  ),
});

const AccessReview = Type.Object(
  {
    trackedSince: Day('First day of the record of use'),
    unusedDays: Type.Integer(),
    complete: Type.Boolean({
      description:
        'False while the record is younger than `unusedDays`: resources that were never used cannot be listed yet.',
    }),
    total: Type.Integer({ description: 'Number of entries on all pages.' }),
    unused: Type.Array(UnusedEntry),
  },
  { $id: 'AccessReview' },
);

/** `GET /access-review`: roles, statements, assignments and service tokens without recent use. */
export function accessReviewRoutes(app: FastifyInstance, manager: RbacManager): void {
  app.get<{ Querystring: ReviewQuery }>(
    '/access-review',
    {
      schema: {
        operationId: 'accessReview',
        'x-docs': {
          ok: 'The roles, statements, assignments and service tokens without recent use.',
          response: {
            trackedSince: '2026-01-01',
            unusedDays: 90,
            complete: true,
            total: 1,
            unused: [{ kind: 'role', role: 'analysts', lastUsedAt: null, unusedSince: '2026-01-01' }],
          },
        },
        tags: ['access'],
        summary:
          'Lists roles, statements, assignments and service tokens without recent use, of those that the caller may read.',
        querystring: ReviewQuery,
        response: {
          ...responsesOf(
            {
              ...AccessReview,
              headers: {
                link: {
                  type: 'string',
                  description: 'With `limit`: the URL of the next page, `rel="next"`; absent on the last page.',
                },
              },
            },
            400,
          ),
        },
      },
    },
    async (request, reply) => {
      const { usage } = manager;
      if (!usage) throw new HttpError(503, 'this gateway does not record the use of access');
      const { unusedDays = DEFAULT_DAYS } = request.query;
      const { principal } = request;
      const mayRead: ReviewPorts['mayRead'] = (kind, name) => {
        const [action, resource] = readRight(kind, name);
        return request.server.authorizer.isAllowed(principal, action, resource);
      };
      const grants = manager.directory.grantsOf(principal);
      const mayReadAny: ReviewPorts['mayReadAny'] = (kind) =>
        grants.mayAllow(readRight(kind, '')[0], kind === 'assignment' ? 'role' : kind);
      const ports = { ...manager.reviewPorts, usage, mayRead, mayReadAny };
      const found = await findPage(request, reply, {
        find: (range) => accessReview(ports, unusedDays, range),
        keyOf: reviewKey,
      });
      const { since, day } = usage;
      const complete = since <= day - unusedDays;
      const head = { trackedSince: formatDay(since), unusedDays, complete, total: found.total };
      return sendJson(request, reply, review(head, found.items));
    },
  );
}

/** The response: its fields, and then its entries. */
function* review(head: object, unused: readonly Unused[]): Iterable<string> {
  yield `${JSON.stringify(head).slice(0, -1)},"unused":`;
  yield* jsonArray(unused, { view: (entry) => entry, schema: UnusedEntry });
  yield '}';
}

function readRight(kind: Parameters<ReviewPorts['mayRead']>[0], name: string) {
  switch (kind) {
    case 'role':
      return ['GetRole', roleResource(name)] as const;
    case 'policy':
      return ['GetPolicy', policyResource(name)] as const;
    case 'assignment':
      return ['GetAssignment', roleResource(name)] as const;
    case 'service-token':
      return ['GetServiceToken', serviceTokenResource(name)] as const;
  }
}
