import { Type, type Static } from 'typebox';
import { commonStatus, NAME_MAX_LENGTH, NAME_PATTERN } from './meta.ts';
import { emptyByDefault, StringEnum, type KindDefinition } from './schema.ts';

const TOKEN_STATES = ['Unassigned', 'Active', 'Expired'] as const;

export const ServiceTokenSpec = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 4096, description: 'Purpose of the token.' })),
    expiresAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'Expiry time, RFC 3339. The token never expires when the field is absent.',
      }),
    ),
    secretName: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_MAX_LENGTH,
        pattern: NAME_PATTERN,
        description:
          'Name of the Secret, in the same namespace, to which the operator writes the generated token (keys accessKey, secretKey, bearerToken). Immutable.',
      }),
    ),
  },
  { ...emptyByDefault, description: 'Purpose and lifetime of the token.' },
);
export type ServiceTokenSpec = Static<typeof ServiceTokenSpec>;

/** Number of replaced secret keys that are valid at a time. */
export const MAX_PREVIOUS_HASHES = 8;

/** `sha256:<hex>` */
export const SECRET_HASH_PATTERN = '^sha256:[0-9a-f]{64}$';

const PreviousHash = Type.Object(
  {
    hash: Type.String({ maxLength: 71, pattern: SECRET_HASH_PATTERN, description: 'Hash of the secret key.' }),
    validUntil: Type.String({ format: 'date-time', description: 'Time until which the secret key is accepted.' }),
  },
  { description: 'A secret key that a rotation replaced.' },
);
export type PreviousHash = Static<typeof PreviousHash>;

export const ServiceTokenStatus = Type.Object(
  {
    ...commonStatus,
    accessKey: Type.Optional(Type.String({ maxLength: 64, description: 'Public part of the token.' })),
    secretHash: Type.Optional(
      Type.String({
        maxLength: 71,
        pattern: SECRET_HASH_PATTERN,
        description:
          'SHA-256 hash of the secret key, which has 165 random bits and cannot be found from it. Without it the token is rejected.',
      }),
    ),
    previousHashes: Type.Optional(
      Type.Array(PreviousHash, {
        maxItems: MAX_PREVIOUS_HASHES,
        description: 'Secret keys that rotations replaced and that are still accepted.',
      }),
    ),
    state: Type.Optional(
      StringEnum(TOKEN_STATES, {
        description: 'Unassigned (no role: the token is rejected), Active or Expired.',
      }),
    ),
    rotatedAt: Type.Optional(Type.String({ format: 'date-time', description: 'Time of the last rotation.' })),
    rotatedBy: Type.Optional(
      Type.String({
        maxLength: 1024,
        description:
          'Who has rotated the token by REST and so got its secret, as an SRN; absent where that was only the token itself.',
      }),
    ),
    observedRotateAt: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'Last processed value of the annotation olapwarden.io/rotate-at.',
      }),
    ),
  },
  { description: 'Status observed by the operator. It never contains a secret key.' },
);
export type ServiceTokenStatus = Static<typeof ServiceTokenStatus>;

export const serviceTokenKind = {
  kind: 'ServiceToken',
  plural: 'servicetokens',
  singular: 'servicetoken',
  shortNames: ['otoken'],
  description:
    'A ServiceToken is a bearer token for programs. It is rejected until a role is assigned to it. The operator generates the token and writes it to the Secret spec.secretName; the custom resource never contains it.',
  spec: ServiceTokenSpec,
  status: ServiceTokenStatus,
  rules: [
    {
      cel: '(!has(oldSelf.secretName) && !has(self.secretName)) || (has(oldSelf.secretName) && has(self.secretName) && self.secretName == oldSelf.secretName)',
      message: 'spec.secretName is immutable: create another ServiceToken for the other Secret',
      holds: (spec, previous) => previous === undefined || spec.secretName === previous.secretName,
    },
  ],
  selectableFields: ['.spec.secretName', '.status.state'],
  printerColumns: [
    { name: 'State', type: 'string', jsonPath: '.status.state', description: 'Unassigned, Active or Expired.' },
    { name: 'Access Key', type: 'string', jsonPath: '.status.accessKey', description: 'Public part of the token.' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt', description: 'Expiry time.' },
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the token exists. It is accepted in the state Active.',
    },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].reason',
      description: 'Why the token is or is not ready.',
    },
    {
      name: 'Message',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'In words, why the token is or is not ready.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since creation.',
    },
  ],
} as const satisfies KindDefinition<'ServiceToken', typeof ServiceTokenSpec, typeof ServiceTokenStatus>;
