/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import { Type, type Static } from 'typebox';
import type { RbacManager } from '../../access/manager/manager.ts';
import { policyResource, roleResource, serviceTokenResource } from '../../access/policy/srn.ts';
import {
  accessReview,
  ITEMS_PER_SLICE,
  REVIEWED_KINDS,
  type ReviewPorts,
  type Unused,
} from '../../access/usage/access-review.ts';
import { sortedInSlices } from '../../platform/sorted-in-slices.ts';
import { WorkSlices } from '../../platform/work-slices.ts';
import { formatDay } from '../../access/usage/usage-record.ts';
import { SUBJECT_TYPES } from '../../resources/role-assignment.ts';
import { StringEnum } from '../../resources/schema.ts';
import { HttpError } from '../server/errors.ts';
import { ListQuery } from './schemas/shared.ts';
import { answers, page } from './support.ts';

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

const AccessReview = Type.Object(
  {
    trackedSince: Day('First day of the record of use'),
    unusedDays: Type.Integer(),
    complete: Type.Boolean({
      description:
        'False while the record is younger than `unusedDays`: resources that were never used cannot be listed yet.',
    }),
    total: Type.Integer({ description: 'Number of entries on all pages.' }),
    unused: Type.Array(
      Type.Object({
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
      }),
    ),
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
        tags: ['access'],
        summary:
          'Lists roles, statements, assignments and service tokens without recent use, of those that the caller may read.',
        querystring: ReviewQuery,
        response: {
          ...answers(
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
    async (request, reply): Promise<Static<typeof AccessReview>> => {
      const { usage } = manager;
      if (!usage) throw new HttpError(503, 'this gateway does not record the use of access');
      const { unusedDays = DEFAULT_DAYS } = request.query;
      const mayRead: ReviewPorts['mayRead'] = (kind, name) => {
        const [action, resource] = readRight(kind, name);
        return request.server.authorizer.isAllowed(request.principal, action, resource);
      };
      const unused = await accessReview({ ...manager.reviewPorts, usage, mayRead }, unusedDays);
      const found = await sortedInSlices(unused, sortKey, new WorkSlices(ITEMS_PER_SLICE));
      return {
        trackedSince: formatDay(usage.since),
        unusedDays,
        complete: usage.since <= usage.day - unusedDays,
        total: found.length,
        unused: page(request, reply, found, sortKey),
      };
    },
  );
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

function sortKey({ kind, role, policy, serviceToken, statementIndex = 0, subjectType, subject }: Unused): string {
  const name = role ?? policy ?? serviceToken ?? '';
  return [kind, name, String(statementIndex).padStart(5, '0'), subjectType ?? '', subject ?? ''].join(' ');
}
