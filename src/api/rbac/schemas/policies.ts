import { Type } from 'typebox';
import { StringEnum } from '../../../resources/schema.ts';
import { closed, Description, Name, described, history, readOnly, param, written } from './shared.ts';

/** Characters; equals the default body limit in bytes. */
const MAX_DOCUMENT = 1024 * 1024;

const columns = {
  allow: Type.Optional(Type.Array(Type.String(), { description: 'The only columns that may be read.' })),
  deny: Type.Optional(Type.Array(Type.String(), { description: 'The only columns that may not be read.' })),
  mask: Type.Optional(
    Type.Record(Type.String(), Type.String(), { description: 'What is read in place of a column, by its name.' }),
  ),
};
export const StatementConditions = Type.Object(
  {
    rowFilters: Type.Optional(
      Type.Array(Type.String(), { description: 'SQL conditions over the columns of the table; all must be true.' }),
    ),
    columns: Type.Optional(Type.Object(columns)),
  },
  {
    description: 'The part of the tables that may be read. Only with the effect `allow` and the single action `Query`.',
  },
);

/** What several statements with conditions allow together. */
export const UnitedConditions = Type.Object(
  {
    rowFilters: Type.Optional(
      Type.Array(Type.Array(Type.String()), {
        description: 'A row may be read if all filters of one of the lists are true; absent: all rows.',
      }),
    ),
    columns: Type.Optional(Type.Object(columns, { description: 'Absent: all columns.' })),
    values: Type.Optional(
      Type.Record(Type.String(), Type.Array(Type.String()), {
        description: 'The values of the caller in the filters, such as `subject.email`.',
      }),
    ),
  },
  {
    description:
      'For CONDITIONAL: what may be read of the table. Empty where the statements allow all of it together. Omitted once the texts of the response exceed 256 KiB.',
  },
);

export const PolicyDocument = Type.Object(
  {
    version: StringEnum(['v1']),
    statements: Type.Array(
      Type.Object(
        {
          description: Type.Optional(Type.String()),
          effect: StringEnum(['allow', 'deny']),
          actions: Type.Optional(Type.Array(Type.String(), { description: 'All actions if absent.' })),
          resources: Type.Array(Type.String()),
          conditions: Type.Optional(StatementConditions),
        },
        { $id: 'Statement' },
      ),
    ),
  },
  { $id: 'PolicyDocument' },
);
export const PolicySummary = Type.Object(described('policy'), { $id: 'PolicySummary' });
export const Policy = Type.Object(
  {
    ...described('policy'),
    ...history,
    policyDocumentJson: Type.String({ description: 'The policy document as JSON in a string.' }),
    policyDocument: PolicyDocument,
    warnings: Type.Optional(
      Type.Array(Type.String(), {
        description:
          'In responses to writes: names of tables, roles, policies and service tokens in the document that do not exist, with the nearest name; absent where all exist.',
      }),
    ),
  },
  { $id: 'Policy' },
);
export const WrittenPolicy = written(Policy, 'WrittenPolicy', 'GetPolicy');

/** The two ways to send a policy document. */
export const document = {
  policyDocumentJson: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: MAX_DOCUMENT,
      description:
        'The policy document as JSON in a string: `{"version":"v1","statements":[{"effect":"allow","actions":["Query"],"resources":["srn2:table#events"]}]}`.',
    }),
  ),
  policyDocument: Type.Optional(
    Type.Object(
      {},
      {
        additionalProperties: true,
        $id: 'PolicyDocumentInput',
        description: 'The document itself, instead of policyDocumentJson.',
      },
    ),
  ),
};
export const CreatePolicyRequest = Type.Object(
  { name: Name, description: Type.Optional(Description), ...document },
  { ...closed, $id: 'CreatePolicyRequest' },
);
export const UpdatePolicyRequest = Type.Object(
  { name: Type.Optional(Name), description: Type.Optional(Description), ...document, ...readOnly('policy') },
  {
    ...closed,
    $id: 'UpdatePolicyRequest',
    description:
      'Absent fields stay unchanged. With both `policyDocumentJson` and `policyDocument`, as GET returns them, the one that was changed counts.',
  },
);

export const PolicyParams = param('policySrn', 'policy');
