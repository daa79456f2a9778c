import { Type } from 'typebox';
import { StringEnum } from '../../../resources/schema.ts';
import { closed, Description, Time, Srn, Reference, history, lastUse, Nullable, param } from './shared.ts';

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
export const IssuedServiceToken = Type.Object(
  {
    ...tokenFields,
    accessKey: Type.String({ description: 'Public part: 16 letters and digits.' }),
    secretKey: Type.String({ description: 'Secret part. Returned only in this response and not stored.' }),
    bearerToken: Type.String({ description: '`svc-<accessKey>-<secretKey>`, for `Authorization: Bearer`.' }),
  },
  { $id: 'IssuedServiceToken' },
);
export const ServiceToken = Type.Object(
  {
    ...tokenFields,
    accessKey: Type.Optional(Type.String({ description: 'Absent until the operator has generated the token.' })),
    roles: Type.Array(Reference),
    status: StringEnum(['UNASSIGNED', 'ACTIVE', 'EXPIRED'], {
      description: 'UNASSIGNED: the token has no role and is rejected.',
    }),
    rotatedAt: Type.Optional(Time('Time of the last rotation; absent before the first one')),
    formerSecrets: Type.Optional(
      Type.Array(Type.Object({ validUntil: Time('Time until which the former secret is accepted') }), {
        description: 'Secrets that rotations replaced and that are still accepted; absent if there are none.',
      }),
    ),
    ...lastUse,
    managedBy: history.managedBy,
  },
  { $id: 'ServiceToken' },
);

export const TokenParams = param('tokenSrn', 'service-token');
