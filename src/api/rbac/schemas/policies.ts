import { Type } from 'typebox';
import { StringEnum } from '../../../resources/schema.ts';
import { closed, Description, Name, described, history, readOnly, param } from './shared.ts';

/** Characters; equals the default body limit in bytes. */
const MAX_DOCUMENT = 1024 * 1024;

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
