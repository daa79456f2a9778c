import { Type, type Static } from 'typebox';
import { commonStatus, NAME_MAX_LENGTH, NAME_PATTERN } from './meta.ts';
import { emptyByDefault, StringEnum, type KindDefinition } from './schema.ts';

export const TOKEN_STATES = ['Unassigned', 'Active', 'Expired'] as const;

export const ServiceTokenSpec = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 4096, description: 'What the token is for.' })),
    expiresAt: Type.Optional(
      Type.String({
        format: 'date-time',
        description: 'When the token stops working, RFC 3339. It never expires where the field is missing.',
      }),
    ),
    secretName: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: NAME_MAX_LENGTH,
        pattern: NAME_PATTERN,
        description:
          'Name of the Secret, in the same namespace, that the operator writes the generated token to (keys accessKey, secretKey, bearerToken). It cannot be changed later.',
      }),
    ),
  },
  { ...emptyByDefault, description: 'What the token is for and how long it works.' },
);
export type ServiceTokenSpec = Static<typeof ServiceTokenSpec>;

export const ServiceTokenStatus = Type.Object(
  {
    ...commonStatus,
    accessKey: Type.Optional(Type.String({ maxLength: 64, description: 'The public half of the token.' })),
    state: Type.Optional(
      StringEnum(TOKEN_STATES, {
        description: 'Unassigned (no role yet: the token does not work), Active or Expired.',
      }),
    ),
    rotatedAt: Type.Optional(Type.String({ format: 'date-time', description: 'When the secret was last replaced.' })),
    observedRotateAt: Type.Optional(
      Type.String({
        maxLength: 128,
        description: 'The value of the annotation olapwarden.io/rotate-at that was last acted upon.',
      }),
    ),
  },
  { description: 'What the operator observed. Never holds a secret.' },
);
export type ServiceTokenStatus = Static<typeof ServiceTokenStatus>;

export const serviceTokenKind = {
  kind: 'ServiceToken',
  plural: 'servicetokens',
  singular: 'servicetoken',
  shortNames: ['otoken'],
  description:
    'A ServiceToken is a bearer token for programs. It does not work until a role is assigned to it. The operator generates the secret and writes it to the Secret that spec.secretName names; the custom resource itself never holds it.',
  spec: ServiceTokenSpec,
  status: ServiceTokenStatus,
  rules: [
    {
      cel: '(!has(oldSelf.secretName) && !has(self.secretName)) || (has(oldSelf.secretName) && has(self.secretName) && self.secretName == oldSelf.secretName)',
      message: 'spec.secretName cannot be changed: make another ServiceToken that names the other Secret',
      holds: (spec, previous) => previous === undefined || spec.secretName === previous.secretName,
    },
  ],
  printerColumns: [
    { name: 'State', type: 'string', jsonPath: '.status.state', description: 'Unassigned, Active or Expired.' },
    { name: 'Access Key', type: 'string', jsonPath: '.status.accessKey', description: 'The public half of the token.' },
    { name: 'Expires', type: 'string', jsonPath: '.spec.expiresAt', description: 'When the token stops working.' },
    {
      name: 'Ready',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].status',
      description: 'Whether the token can be used.',
    },
    {
      name: 'Reason',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Ready")].message',
      description: 'Why the token can or cannot be used.',
      priority: 1,
    },
    {
      name: 'Age',
      type: 'date',
      jsonPath: '.metadata.creationTimestamp',
      description: 'Time since the token was made.',
    },
  ],
} as const satisfies KindDefinition<'ServiceToken', typeof ServiceTokenSpec, typeof ServiceTokenStatus>;
