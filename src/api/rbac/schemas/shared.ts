import { Type, type Static, type TObject, type TProperties, type TSchema } from 'typebox';
import { NAME_MAX_LENGTH } from '../../../resources/meta.ts';

export const closed = { additionalProperties: false } as const;
const MAX_DESCRIPTION = 4096;
export const MAX_SRN = 1024;

export const Description = Type.String({ maxLength: MAX_DESCRIPTION, description: 'Free text.' });
export const Time = (description: string) =>
  Type.String({ format: 'date-time', description: `${description}, ISO 8601 with offset.` });
/** Longer than a valid name, so that the error for an invalid name can suggest a valid one. */
export const Name = Type.String({
  minLength: 1,
  maxLength: 4 * NAME_MAX_LENGTH,
  description: 'Lower-case letters, digits, `-` and `.` (an RFC 1123 subdomain); it cannot be changed later.',
});
export const Srn = (kind: string) => Type.String({ description: `Resource name, \`srn2:${kind}#<name>\`.` });

// No `$id`: the serializer accepts a name only once per response schema, and this schema is used several times.
export const Reference = Type.Object({ name: Type.String(), srn: Type.String() });

export const described = (kind: string) => ({
  srn: Srn(kind),
  name: Type.String({ description: 'Unique; it cannot be changed later.' }),
  description: Type.String({ description: 'Free text; empty where there is none.' }),
});

export const history = {
  createdAt: Time('Time of creation'),
  lastUpdatedAt: Time('Time of the last change'),
  createdBy: Type.String({
    description:
      'Creator: an SRN, the Kubernetes user name for kubectl, `platform-rbac-manager` for predefined resources, or `unknown`.',
  }),
  lastUpdatedBy: Type.String({ description: 'Author of the last change, in the form of createdBy.' }),
  managedBy: Type.Optional(
    Type.Array(Type.String(), {
      description:
        'Other tools that manage it through the Kubernetes API, such as `kubectl`. They may revert changes made here.',
    }),
  ),
};

export const lastUse = {
  lastUsedAt: Type.Optional(
    Type.Union([Type.String({ format: 'date' }), Type.Null()], {
      description:
        'In GET: day (UTC) on which it last allowed or denied something; null if no use is recorded. `trackedSince` of `GET /access-review` is the first day of the record. It is not a part of the `ETag`.',
    }),
  ),
};

/** What a write returns of a resource: only name and SRN where the caller may not read it. */
export function written<T extends TProperties>({ properties }: TObject<T>, $id: string, action: string) {
  const { srn, name, ...rest } = properties;
  return Type.Object(
    { srn: srn as TSchema, name: name as TSchema, ...Type.Partial(Type.Object(rest)).properties },
    { $id, description: `Without \`${action}\` only the name and the SRN.` },
  );
}

export const Nullable = (schema: ReturnType<typeof Time>) => Type.Union([schema, Type.Null()]);

/** So that the body of a GET can be sent back: fields that a change cannot have. */
const readOnlyText = Type.Optional(
  Type.String({ maxLength: MAX_SRN, description: 'Read-only: accepted and ignored.' }),
);
export const readOnly = (kind: string) => ({
  srn: Type.Optional(Type.String({ maxLength: MAX_SRN, description: `Must be that of the ${kind}.` })),
  createdAt: readOnlyText,
  lastUpdatedAt: readOnlyText,
  createdBy: readOnlyText,
  lastUpdatedBy: readOnlyText,
  managedBy: Type.Optional(
    Type.Array(Type.String({ maxLength: MAX_SRN }), {
      maxItems: 1000,
      description: 'Read-only: accepted and ignored.',
    }),
  ),
  lastUsedAt: Type.Optional(Type.Union([Type.String({ maxLength: MAX_SRN }), Type.Null()])),
  warnings: Type.Optional(Type.Array(Type.String({ maxLength: 4096 }), { maxItems: 100 })),
});

export const ListQuery = Type.Object({
  limit: Type.Optional(
    Type.Integer({ minimum: 1, maximum: 10_000, description: 'Maximum number of entries; all if absent.' }),
  ),
  continue: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 2048,
      description: 'From the `Link` header (`rel="next"`) of the previous response.',
    }),
  ),
});
export type ListQuery = Static<typeof ListQuery>;

/** Of a list of named resources. */
export const NamedListQuery = Type.Object({
  ...ListQuery.properties,
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 253,
      description: 'Resources of this name only; `*` matches any characters, as in `team-a-*`.',
    }),
  ),
});
export type NamedListQuery = Static<typeof NamedListQuery>;

export const param = (name: string, kind: string) =>
  Type.Object({
    [name]: Type.String({
      minLength: 1,
      maxLength: 2048,
      description: `\`srn2:${kind}#<name>\`, with \`#\` as \`%23\`.`,
    }),
  });
