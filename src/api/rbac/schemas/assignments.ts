import { Type, type Static } from 'typebox';
import { SUBJECT_TYPES } from '../../../resources/role-assignment.ts';
import { StringEnum } from '../../../resources/schema.ts';
import { closed, ListQuery, Time, history, lastUse, Nullable, readOnly } from './shared.ts';

export const AssignmentRequest = Type.Object(
  {
    subject: Type.String({
      minLength: 1,
      maxLength: 512,
      pattern: '^\\S(.*\\S)?$',
      description: 'The e-mail address, group, e-mail domain, or the access key of a service token.',
    }),
    subjectType: StringEnum(['user-email', 'email', 'group', 'domain', 'service-token'], {
      description: '`email` is another spelling of `user-email`.',
    }),
  },
  { ...closed, $id: 'AssignmentRequest' },
);
/** Of the list of all assignments. */
export const SubjectListQuery = Type.Object({
  ...ListQuery.properties,
  subject: Type.Optional(AssignmentRequest.properties.subject),
  subjectType: Type.Optional(AssignmentRequest.properties.subjectType),
});
export type SubjectListQuery = Static<typeof SubjectListQuery>;
export type AssignmentRequest = Partial<Static<typeof AssignmentRequest>>;
export const CreateAssignmentRequest = Type.Object(
  {
    ...AssignmentRequest.properties,
    expiresAt: Type.Optional(
      Nullable(
        Time(
          'Expiry time of the assignment, in the future; none if absent or null. It replaces the expiry of an existing assignment',
        ),
      ),
    ),
  },
  { ...closed, $id: 'CreateAssignmentRequest' },
);
export const Assignment = Type.Object(
  {
    subject: Type.String(),
    subjectType: StringEnum(SUBJECT_TYPES),
    createdAt: Type.Optional(Time('Time of the assignment; absent if there was none to delete')),
    createdBy: Type.Optional(Type.String({ description: 'Creator, as of a role.' })),
    expiresAt: Type.Optional(Nullable(Time('Expiry time of the assignment; null if it does not expire'))),
    status: Type.Optional(
      StringEnum(['ACTIVE', 'EXPIRED'], { description: 'EXPIRED: the subject no longer has the role.' }),
    ),
    ...lastUse,
    managedBy: history.managedBy,
  },
  { $id: 'Assignment' },
);
const { createdAt, createdBy, managedBy, lastUsedAt } = readOnly('assignment');
export const ReplaceAssignmentsRequest = Type.Array(
  Type.Object(
    {
      ...CreateAssignmentRequest.properties,
      expiresAt: Type.Optional(
        Nullable(
          Time('Expiry time of the assignment; none if absent or null. An expiry that has passed must not be changed'),
        ),
      ),
      createdAt,
      createdBy,
      managedBy,
      lastUsedAt,
      status: createdAt,
    },
    closed,
  ),
  { maxItems: 1000, description: 'All subjects that are to have the role, as GET returns them.' },
);
export const AssignmentOfRole = Type.Object(
  { role: Type.String({ description: 'Name of the role.' }), ...Assignment.properties },
  { $id: 'AssignmentOfRole' },
);
