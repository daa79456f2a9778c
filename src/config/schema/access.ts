import { Type } from 'typebox';
import { choice, duration, flag, text, texts } from '../../platform/setting-schema.ts';

const CLAIM_NAME = '^[^\\s,*]{1,256}$';
const SIGNING_ALGORITHM = '^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$';

/** Names of resources, and who can authenticate. */
export const ACCESS_SETTINGS = {
  environment: text({
    description: 'Name of the environment in resource names (SRNs).',
    default: 'default',
    pattern: '^[^:#*\\s]+$',
    expected: 'a name without `:`, `#`, `*` and spaces',
  }),
  cluster: text({
    description: 'Name of the cluster in resource names (SRNs), as in `srn2:cluster#pinot:table#events`.',
    default: 'pinot',
    pattern: '^[^:#*\\s]+$',
    expected: 'a name without `:`, `#`, `*` and spaces',
  }),
  'further-cluster': flag({
    description:
      'Whether this gateway belongs to a further cluster of an environment with [several clusters](install.md#several-clusters-in-one-environment): its ClusterHealthReport has the name of the cluster instead of `cluster`, and it stores results in a folder of that name. Not in standalone.',
    default: false,
  }),
  'other-clusters': texts({
    description:
      'Names of the other clusters of the environment. The gateway does not know their tables, so it does not warn about tables that one of them may have; of a cluster that is not named here it does.',
    default: [],
    pattern: '^[^:#*\\s]+$',
    expected: 'a name without `:`, `#`, `*` and spaces',
  }),
  'admin-subject': texts({
    description:
      'First administrators, each `type:name` with type `user-email`, `group`, `domain` or `service-token`. They are assigned the role `system-admin` by the RoleAssignment `administrators-by-setting`. The operator deletes it after the setting was removed, unless others have created or changed it, or no other subject has the role for at least 24 hours.',
    default: [],
    pattern: '^(user-email|group|domain|service-token):\\S(.*\\S)?$',
    expected: 'a subject such as `user-email:you@example.com` or `group:admins`',
  }),
  'recover-admin': flag({
    description:
      'Creates a new token for `admin@localhost` at start, invalidates its earlier ones, and assigns it the role `system-admin` alone. Only in standalone, for one start.',
    default: false,
  }),
  'token-file': Type.Optional(
    text({
      description:
        'File with the SHA-256 hashes of accepted tokens, as JSON lines `{"sha256", "user", "groups"}`. Changes are read without a restart.',
      computedDefault: 'none; in standalone `tokens.jsonl` in the data folder',
      unit: 'path',
    }),
  ),
  'kubernetes-tokens': flag({
    description: 'Accepts Kubernetes tokens, checked by TokenReview. Not in standalone.',
    default: true,
  }),
  'kubernetes-audiences': texts({
    description: 'Accepted audiences of Kubernetes tokens. Empty: the audience of the API server.',
    default: ['olap-warden'],
  }),
  'oidc-issuer': Type.Optional(text({ description: 'Issuer of OIDC tokens. Enables OIDC.', unit: 'url' })),
  'oidc-audiences': texts({
    description: 'Accepted audiences of OIDC tokens. Required with `oidc-issuer`.',
    default: [],
  }),
  'oidc-jwks-url': Type.Optional(
    text({
      description: 'URL of the issuer’s keys (JWKS).',
      computedDefault: '`jwks_uri` of the issuer’s discovery document',
      unit: 'url',
    }),
  ),
  'oidc-keys-max-stale': duration({
    description:
      'How long the issuer’s keys are used after they were last read, while the issuer is away. See [rbac.md](rbac.md#while-the-identity-provider-is-away).',
    default: 86_400_000,
    minimum: 600_000,
  }),
  'oidc-algorithms': texts({
    description: 'Accepted signing algorithms.',
    default: ['RS256', 'ES256', 'PS256'],
    pattern: SIGNING_ALGORITHM,
    expected: 'an asymmetric signing algorithm such as `RS256`',
  }),
  'oidc-username-claim': text({
    description: 'Claim with the user’s name. `email` is accepted only when `email_verified` is true.',
    default: 'email',
  }),
  'oidc-groups-claim': text({ description: 'Claim with the user’s groups.', default: 'groups' }),
  'oidc-unreadable-groups': choice(['refuse', 'without-groups'], {
    description:
      'What happens to a token whose groups cannot be read. `without-groups`: it has none, so that denies for its groups do not apply to it. See [rbac.md](rbac.md#users-of-an-identity-provider).',
    default: 'refuse',
  }),
  'oidc-condition-claims': texts({
    description:
      'Claims that row filters of policies can use, as `${subject.claims.<name>}`; no other claim is kept. See [rows-and-columns.md](rows-and-columns.md#claims).',
    default: [],
    pattern: CLAIM_NAME,
    expected: 'the name of a claim, of at most 256 characters without blanks, `,` and `*`',
  }),
  'oidc-client-id': Type.Optional(
    text({ description: 'Client id of the dashboard. Enables OIDC sign-in to the dashboard.' }),
  ),
  'oidc-client-secret-file': Type.Optional(
    text({ description: 'File with the client secret. Not set for a public client.', unit: 'path' }),
  ),
  'oidc-scope': text({ description: 'Scope of the dashboard’s sign-in.', default: 'openid email profile' }),
  'oidc-token': choice(['id_token', 'access_token'], {
    description: 'Token of the provider that becomes the session of the dashboard.',
    default: 'id_token',
  }),
};
