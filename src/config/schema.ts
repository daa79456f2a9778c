import { Type, type Static } from 'typebox';
import { LOG_LEVELS } from '../platform/logging.ts';
import { keysOf } from './keys.ts';
import { choice, duration, flag, integer, text, texts } from './value.ts';

const HOST_PORT = '^[A-Za-z0-9._-]+:\\d{1,5}$|^\\[[0-9A-Fa-f:.]+\\]:\\d{1,5}$';
const SIGNING_ALGORITHM = '^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$';

const port = (description: string, env: string, value: number) =>
  integer({ description, env, default: value, minimum: 0, maximum: 65_535 });

/** The settings of the process, read once at start. */
export const SettingsSchema = Type.Object({
  port: port('Port of the REST API and the dashboard. 0 selects a free port.', 'PORT', 8080),
  'metrics-port': port('Port of `/livez`, `/readyz` and `/metrics`. 0 selects a free port.', 'METRICS_PORT', 9090),
  host: Type.Optional(
    text({
      description: 'Listen address of both ports.',
      computedDefault: '`0.0.0.0`; in standalone `127.0.0.1`',
    }),
  ),
  'log-level': choice(LOG_LEVELS, { description: 'Minimum level of log records.', default: 'info' }),
  'data-dir': text({
    description: 'Data folder of standalone: manifests of the resources, `tokens.jsonl` and `admin-token`.',
    env: 'DATA_DIR',
    default: './data',
    unit: 'path',
  }),
  controllers: texts({
    description: 'Base URLs of the Pinot controllers. If one is unavailable, the next one is used.',
    env: 'OLAP_CONTROLLER',
    default: ['http://127.0.0.1:9000'],
    unit: 'url',
  }),
  brokers: texts({
    description:
      'Base URLs of the Pinot brokers. Where not set, the gateway asks the controller which brokers serve a table.',
    default: [],
    unit: 'url',
  }),
  'engine-credential-file': Type.Optional(
    text({
      description:
        'File with the gateway’s credential for Pinot: `Basic …`, `Bearer …`, `user:password` or a token. Changes are read without a restart.',
      unit: 'path',
    }),
  ),
  'engine-ca-file': Type.Optional(
    text({ description: 'PEM file of the certificate authorities for connections to Pinot.', unit: 'path' }),
  ),
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
  'admin-subject': texts({
    description:
      'First administrators, each `type:name` with type `user-email`, `group`, `domain` or `service-token`. They are assigned the role `system-admin`.',
    default: [],
    pattern: '^(user-email|group|domain|service-token):\\S(.*\\S)?$',
    expected: 'a subject such as `user-email:you@example.com` or `group:admins`',
  }),
  'token-file': Type.Optional(
    text({
      description:
        'File with the SHA-256 hashes of accepted tokens, as JSON lines `{"sha256", "user", "groups"}`. Changes are read without a restart.',
      computedDefault: 'none; in standalone `tokens.jsonl` in the data folder',
      unit: 'path',
    }),
  ),
  kubeconfig: Type.Optional(
    text({
      description: 'Kubeconfig file for the Kubernetes API.',
      computedDefault: '`KUBECONFIG`, else `~/.kube/config`, else the pod’s service account',
      unit: 'path',
    }),
  ),
  namespace: Type.Optional(
    text({
      description: 'Namespace of the custom resources.',
      env: 'POD_NAMESPACE',
      computedDefault: 'the pod’s, or that of the kubeconfig’s context',
      pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
      expected: 'the name of a namespace',
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
  'broker-id': Type.Optional(
    text({
      description: 'Id of this gateway, the `brokerId` in responses.',
      env: 'POD_NAME',
      computedDefault: 'the host name',
    }),
  ),
  'advertise-host': Type.Optional(
    text({
      description: 'Host name or address at which other gateways reach this one.',
      env: 'POD_IP',
      computedDefault: 'the host name',
    }),
  ),
  'advertise-port': Type.Optional(
    integer({
      description: 'Port at which other gateways reach this one.',
      minimum: 1,
      maximum: 65_535,
      computedDefault: '`port`',
    }),
  ),
  peers: texts({
    description: 'The other gateways, each `host:port`. Alternative to `peers-service`.',
    default: [],
    pattern: HOST_PORT,
    expected: 'an address such as `gateway-1.gateways:8080`',
  }),
  'peers-service': Type.Optional(
    text({
      description: 'Headless Service of the gateways, `name:port`.',
      pattern: HOST_PORT,
      expected: 'an address such as `olap-warden-gateway-peers:8080`',
    }),
  ),
  'tls-cert-file': Type.Optional(
    text({
      description:
        'PEM file with the certificate chain. With `tls-key-file`, enables HTTPS. A renewed certificate is used without a restart.',
      unit: 'path',
    }),
  ),
  'tls-key-file': Type.Optional(
    text({ description: 'PEM file with the private key of the certificate.', unit: 'path' }),
  ),
  'trust-proxy': texts({
    description: 'Addresses or networks of proxies whose `X-Forwarded-For` is trusted.',
    default: [],
  }),
  'max-failed-attempts': integer({
    description: 'Failed logins per client address per minute before further failures get 429.',
    default: 20,
    minimum: 1,
    maximum: 1_000_000,
  }),
  'max-requests-per-second': integer({
    description:
      'Sustained requests per second and caller. Bursts of up to ten seconds’ worth are allowed. Further requests get 429. 0: no limit.',
    default: 200,
    minimum: 0,
    maximum: 1_000_000,
  }),
  'max-concurrent-queries': integer({
    description: 'Concurrent queries per caller. Further queries get 429. 0: no limit.',
    default: 64,
    minimum: 0,
    maximum: 1_000_000,
  }),
  'query-timeout': duration({
    description: 'Time limit for a query until Pinot starts to respond. `0`: the default of the connection.',
    default: 0,
  }),
  'max-rows-per-query': integer({
    description:
      'Maximum rows in the response to a query, per caller. A query with a larger LIMIT gets 400; a response with more rows is aborted. 0: no limit.',
    default: 0,
    minimum: 0,
    maximum: 999_999_999,
  }),
  'max-answer-bytes': integer({
    description:
      'Bytes of pages and passed-through answers that the gateway holds in memory at once. Further requests wait, then get 503.',
    default: 134_217_728,
    minimum: 8_388_608,
    maximum: 68_719_476_736,
  }),
  'max-answer-bytes-per-caller': integer({
    description: 'Of `max-answer-bytes`, those that the answers to one caller may take.',
    default: 33_554_432,
    minimum: 8_388_608,
    maximum: 68_719_476_736,
  }),
  'max-sql-bytes': integer({
    description: 'Bytes of a SQL text. A longer one is 400.',
    default: 262_144,
    minimum: 1024,
    maximum: 1_000_000,
  }),
  'max-sql-tokens': integer({
    description: 'Words, names, literals and marks of a SQL text. More are 400.',
    default: 50_000,
    minimum: 100,
    maximum: 1_000_000,
  }),
  'max-sql-nesting': integer({
    description: 'Levels of brackets, queries and calls in a SQL text. More are 400.',
    default: 150,
    minimum: 10,
    maximum: 200,
  }),
  'max-sql-tables': integer({
    description: 'Places where a SQL text may name a table. More are 400.',
    default: 1000,
    minimum: 1,
    maximum: 10_000,
  }),
  'max-sql-common-tables': integer({
    description: 'Common table expressions of a SQL text. More are 400.',
    default: 500,
    minimum: 0,
    maximum: 10_000,
  }),
  'max-json-depth': integer({
    description: 'Levels of objects and arrays in a JSON body. More are 400.',
    default: 64,
    minimum: 16,
    maximum: 1000,
  }),
  'max-json-values': integer({
    description: 'Values of a JSON body: objects, arrays, strings, numbers and literals together. More are 400.',
    default: 32_768,
    minimum: 1024,
    maximum: 10_000_000,
  }),
  'role-limits': texts({
    description:
      'Limits per role, each `role:limit=number` with limit `max-requests-per-second`, `max-concurrent-queries`, `query-timeout-ms` or `max-rows-per-query`. The most permissive limit of a caller’s roles applies.',
    default: [],
  }),
  'caller-limits': texts({
    description:
      'Limits per caller, each `name:limit=number` with the limits of `role-limits`. The name is the user’s id, or the object name of a service token (its access key where the REST API created it). They override `role-limits`.',
    default: [],
  }),
  'leader-lease': text({
    description: 'Name of the Lease for leader election among the operators.',
    default: 'olap-warden-operator',
  }),
  'usage-config-map': text({
    description: 'Name of the ConfigMap in which the gateways record when access was last used.',
    default: 'olap-warden-access-usage',
  }),
  'token-grace': duration({
    description: 'How long the previous token stays valid after a rotation.',
    default: 86_400_000,
  }),
  'prune-expired-after': duration({
    description: 'How long the operator keeps expired subjects of RoleAssignments. 0: for ever.',
    default: 2_592_000_000,
  }),
  'ui-folder': Type.Optional(
    text({
      description: 'Folder of the built dashboard.',
      computedDefault: '`web/dist` of the installation',
      unit: 'path',
    }),
  ),
  'shutdown-grace': duration({
    description: 'Time limit for requests in progress at shutdown.',
    default: 30_000,
  }),
});
export type Settings = Static<typeof SettingsSchema>;

export const SETTING_KEYS = keysOf(SettingsSchema);

/** Problems between settings. */
export function settingsProblems(settings: Settings): string[] {
  const problems: string[] = [];
  if ((settings['tls-cert-file'] === undefined) !== (settings['tls-key-file'] === undefined))
    problems.push('`tls-cert-file` and `tls-key-file` must be set together');
  if (settings['oidc-issuer'] !== undefined && settings['oidc-audiences'].length === 0)
    problems.push(
      'missing `oidc-audiences`: it is required with `oidc-issuer`; set the audience of tokens for this gateway',
    );
  if (settings['oidc-client-id'] !== undefined && settings['oidc-issuer'] === undefined)
    problems.push('missing `oidc-issuer`: it is required with `oidc-client-id`');
  if (settings.controllers.length === 0) problems.push('`controllers` is empty: set at least one Pinot controller');
  if (settings.peers.length > 0 && settings['peers-service'] !== undefined)
    problems.push('`peers` and `peers-service` are both set: set only one');
  if (settings.port !== 0 && settings.port === settings['metrics-port'])
    problems.push(`\`port\` and \`metrics-port\` are both ${settings.port}: they must differ`);
  return problems;
}
