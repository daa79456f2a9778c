import { Type } from 'typebox';
import { StringEnum } from '../../../resources/schema.ts';
import type { Static } from 'typebox';
import { DEFAULT_GRACE_MS } from '../../../access/service-token.ts';
import {
  closed,
  Description,
  Time,
  Srn,
  Reference,
  history,
  lastUse,
  NamedListQuery,
  Nullable,
  param,
} from './shared.ts';

const tokenFields = {
  srn: Srn('service-token'),
  description: Type.String(),
  createdAt: history.createdAt,
  createdBy: history.createdBy,
  expiresAt: Nullable(Time('Expiry time; null if it never expires')),
};
export const CreateServiceTokenRequest = Type.Object(
  {
    description: Type.Optional(Description),
    expiresAt: Type.Optional(Nullable(Time('Expiry time; never if absent'))),
  },
  { ...closed, $id: 'CreateServiceTokenRequest' },
);

/** 30 days: a former secret is for the time in which programs get the new one. */
const MAX_GRACE_SECONDS = 30 * 24 * 3600;

export const RotateServiceTokenRequest = Type.Object(
  {
    graceSeconds: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: MAX_GRACE_SECONDS,
        default: DEFAULT_GRACE_MS / 1000,
        description: 'How long former secrets are still accepted, at most. 0: they all end at once.',
      }),
    ),
  },
  { ...closed, $id: 'RotateServiceTokenRequest' },
);

const rotation = {
  rotatedAt: Type.Optional(Time('Time of the last rotation; absent before the first one')),
  formerSecrets: Type.Optional(
    Type.Array(Type.Object({ validUntil: Time('Time until which the former secret is accepted') }), {
      description: 'Secrets that rotations replaced and that are still accepted; absent if there are none.',
    }),
  ),
};

export const IssuedServiceToken = Type.Object(
  {
    ...tokenFields,
    accessKey: Type.String({ description: 'Public part: 16 letters and digits.' }),
    secretKey: Type.String({ description: 'Secret part. Returned only in this response and not stored.' }),
    bearerToken: Type.String({ description: '`svc-<accessKey>-<secretKey>`, for `Authorization: Bearer`.' }),
    ...rotation,
  },
  { $id: 'IssuedServiceToken' },
);
export const ServiceToken = Type.Object(
  {
    ...tokenFields,
    accessKey: Type.Optional(Type.String({ description: 'Absent until the operator has generated the token.' })),
    roles: Type.Array(Reference, {
      description: 'Of the roles of the token, those whose assignments the caller may read (`GetAssignment`).',
    }),
    rolesOmitted: Type.Optional(
      Type.Literal(true, { description: 'The token has further roles, whose assignments the caller may not read.' }),
    ),
    status: StringEnum(['UNASSIGNED', 'ACTIVE', 'EXPIRED'], {
      description: 'UNASSIGNED: the token has no role and is rejected.',
    }),
    ...rotation,
    ...lastUse,
    managedBy: history.managedBy,
  },
  { $id: 'ServiceToken' },
);

export const TokenParams = param('tokenSrn', 'service-token');

/** Of the list of service tokens. */
export const TokenListQuery = Type.Object({
  ...NamedListQuery.properties,
  description: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 4096,
      description: 'Tokens with this description only, without regard to case; `*` matches any characters.',
    }),
  ),
  createdBy: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: 1024,
      description: 'Tokens of this creator only, such as `srn2:user#ada@example.com`; `*` matches any characters.',
    }),
  ),
});
export type TokenListQuery = Static<typeof TokenListQuery>;
