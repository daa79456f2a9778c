import { Type, type Static } from 'typebox';
import { document } from './policies.ts';
import { closed } from './shared.ts';

/** Characters; the setting `max-sql-bytes` is the limit of a query. */
const MAX_SQL = 256 * 1024;

export const PreviewPolicyRequest = Type.Object(
  {
    ...document,
    sql: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MAX_SQL,
        description: 'A query, such as `SELECT * FROM events LIMIT 10`. Absent: only the document is checked.',
      }),
    ),
    values: Type.Optional(
      Type.Record(Type.String({ maxLength: 128 }), Type.Array(Type.String({ maxLength: 1024 }), { maxItems: 1000 }), {
        maxProperties: 100,
        description:
          'Values of the caller that is tried, by name such as `subject.email`, as `whoami` returns them; it has no others.',
      }),
    ),
  },
  { ...closed, $id: 'PreviewPolicyRequest' },
);
export type PreviewPolicyRequest = Static<typeof PreviewPolicyRequest>;

export const PolicyPreview = Type.Object(
  {
    sql: Type.Optional(
      Type.String({
        description:
          'The text that the engine would get from a caller who has only this policy; absent with `refusal`.',
      }),
    ),
    database: Type.Optional(Type.String({ description: 'The header `Database` for `sql`; absent for none.' })),
    columnNames: Type.Optional(
      Type.Record(Type.String(), Type.String(), {
        description: 'Names of columns of the result in place of those that the engine gives, by position from 0.',
      }),
    ),
    mayRun: Type.Optional(
      Type.Boolean({
        description:
          'With `sql`: whether you may query its tables, at least in part. As a query of your own it returns the rows of the policy that you may read.',
      }),
    ),
    refusal: Type.Optional(Type.String({ description: 'Why the query would be rejected.' })),
  },
  { $id: 'PolicyPreview' },
);
export type PolicyPreview = Static<typeof PolicyPreview>;
