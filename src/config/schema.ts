import { Type, type Static } from 'typebox';
import { keysOf } from './keys.ts';
import { choice, duration, flag, integer, text, texts } from './value.ts';

const LOG_LEVELS = ['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent'] as const;
const HOST_PORT = '^[A-Za-z0-9._-]+:\\d{1,5}$|^\\[[0-9A-Fa-f:.]+\\]:\\d{1,5}$';
const SIGNING_ALGORITHM = '^(RS|PS|ES)(256|384|512)$|^EdDSA$|^Ed25519$';

const port = (description: string, env: string, value: number) =>
  integer({ description, env, default: value, minimum: 0, maximum: 65_535 });

/** The settings of the process; read once, at its start. */
export const SettingsSchema = Type.Object({
  port: port('Port of the REST interfaces and the dashboard. 0 for any free one.', 'PORT', 8080),
  'metrics-port': port('Port of `/livez`, `/readyz` and `/metrics`. 0 for any free one.', 'METRICS_PORT', 9090),
  host: Type.Optional(
    text({
      description: 'Address that both listeners are bound to.',
      computedDefault: '`0.0.0.0`; in standalone `127.0.0.1`',
    }),
  ),
  'log-level': choice(LOG_LEVELS, { description: 'What is logged.', default: 'info' }),
  'data-dir': text({
    description: 'Folder of standalone: the resources as manifests, and `admin-token`.',
    env: 'DATA_DIR',
    default: './data',
    unit: 'path',
  }),
  controllers: texts({
    description: 'Base URLs of the engine’s controllers. The next one is taken when one is away.',
    env: 'OLAP_CONTROLLER',
    default: ['http://127.0.0.1:9000'],
    unit: 'url',
  }),
  brokers: texts({
    description:
      'Base URLs of the engine’s brokers. Where there are none, the controller tells which brokers serve which tables.',
    default: [],
    unit: 'url',
  }),
  'engine-credential-file': Type.Optional(
    text({
      description:
        'File with the gateway’s own credential for the engine: `Basic …`, `Bearer …`, `user:password` or a token. It is read again when it changes.',
      unit: 'path',
    }),
  ),
  'engine-ca-file': Type.Optional(
    text({ description: 'PEM file of the authorities that sign the engine’s certificates.', unit: 'path' }),
  ),
  environment: text({
    description: 'Name of the environment in resource names.',
    default: 'default',
    pattern: '^[^:#*\\s]+$',
    expected: 'a name without `:`, `#`, `*` and spaces',
  }),
  cluster: text({
    description: 'Name of the cluster in resource names, as in `srn2:cluster#pinot:table#events`.',
    default: 'pinot',
    pattern: '^[^:#*\\s]+$',
    expected: 'a name without `:`, `#`, `*` and spaces',
  }),
  'admin-subject': texts({
    description:
      'First administrators, each `type:name` with the type `user-email`, `group`, `domain` or `service-token`: assigned to the role `system-admin`.',
    default: [],
    pattern: '^(user-email|group|domain|service-token):\\S(.*\\S)?$',
    expected: 'a subject such as `user-email:you@example.com` or `group:admins`',
  }),
  'token-file': Type.Optional(
    text({
      description: 'File of tokens, of which only hashes are stored: JSON lines `{"sha256", "user", "groups"}`.',
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
      computedDefault: 'that of the pod, or of the kubeconfig’s context',
      pattern: '^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$',
      expected: 'the name of a namespace',
    }),
  ),
  'kubernetes-tokens': flag({
    description: 'Whether Kubernetes tokens (TokenReview) are accepted. Never in standalone.',
    default: true,
  }),
  'kubernetes-audiences': texts({
    description: 'Audiences of which a Kubernetes token must have one. Empty: that of the API server.',
    default: ['olap-warden'],
  }),
  'oidc-issuer': Type.Optional(
    text({ description: 'Issuer of OIDC tokens; there is no OIDC without it.', unit: 'url' }),
  ),
  'oidc-audiences': texts({
    description: 'Audiences of which an OIDC token must have one. Needed with `oidc-issuer`.',
    default: [],
  }),
  'oidc-jwks-url': Type.Optional(
    text({
      description: 'Keys of the issuer.',
      computedDefault: 'as the issuer’s discovery document says',
      unit: 'url',
    }),
  ),
  'oidc-algorithms': texts({
    description: 'Signing algorithms that are accepted.',
    default: ['RS256', 'ES256', 'PS256'],
    pattern: SIGNING_ALGORITHM,
    expected: 'an asymmetric signing algorithm such as `RS256`',
  }),
  'oidc-username-claim': text({
    description: 'Claim that names the user. `email` counts only while `email_verified` holds.',
    default: 'email',
  }),
  'oidc-groups-claim': text({ description: 'Claim that lists the user’s groups.', default: 'groups' }),
  'oidc-client-id': Type.Optional(
    text({ description: 'Client of the dashboard’s sign-in; there is none without it.' }),
  ),
  'oidc-client-secret-file': Type.Optional(
    text({ description: 'File with the client’s secret. Without it the client is a public one.', unit: 'path' }),
  ),
  'oidc-scope': text({ description: 'Scope of the dashboard’s sign-in.', default: 'openid email profile' }),
  'oidc-token': choice(['id_token', 'access_token'], {
    description: 'Which of the provider’s tokens the dashboard’s session holds.',
    default: 'id_token',
  }),
  'broker-id': Type.Optional(
    text({
      description: 'Id of this gateway as `brokerId` in answers.',
      env: 'POD_NAME',
      computedDefault: 'the host name',
    }),
  ),
  'advertise-host': Type.Optional(
    text({
      description: 'Address under which the other gateways reach this one.',
      env: 'POD_IP',
      computedDefault: 'the host name',
    }),
  ),
  'advertise-port': Type.Optional(
    integer({
      description: 'Port under which the other gateways reach this one.',
      minimum: 1,
      maximum: 65_535,
      computedDefault: '`port`',
    }),
  ),
  peers: texts({
    description: 'The other gateways, each `host:port`. Instead of `peers-service`.',
    default: [],
    pattern: HOST_PORT,
    expected: 'an address such as `gateway-1.gateways:8080`',
  }),
  'peers-service': Type.Optional(
    text({
      description: 'Headless Service, `name:port`, whose addresses are the gateways of this deployment.',
      pattern: HOST_PORT,
      expected: 'an address such as `olap-warden-gateway-peers:8080`',
    }),
  ),
  'tls-cert-file': Type.Optional(
    text({
      description: 'PEM certificate chain. Both it and the key: HTTPS. A renewed one is taken without a restart.',
      unit: 'path',
    }),
  ),
  'tls-key-file': Type.Optional(text({ description: 'PEM key of the certificate.', unit: 'path' })),
  'trust-proxy': texts({
    description: 'Addresses or networks of proxies whose `X-Forwarded-For` is believed.',
    default: [],
  }),
  'max-failed-attempts': integer({
    description: 'Failed authentications of one client address within a minute that are borne; beyond them 429.',
    default: 20,
    minimum: 1,
    maximum: 1_000_000,
  }),
  'max-requests-per-second': integer({
    description:
      'Requests a second of one caller; ten seconds’ worth may come at once. Beyond them 429. 0 for no limit.',
    default: 200,
    minimum: 0,
    maximum: 1_000_000,
  }),
  'max-concurrent-queries': integer({
    description: 'Queries at once of one caller; another one is 429. 0 for no limit.',
    default: 64,
    minimum: 0,
    maximum: 1_000_000,
  }),
  'query-timeout': duration({
    description: 'How long a query may take until the engine begins to answer. `0` for that of the connection.',
    default: 0,
  }),
  'max-rows-per-query': integer({
    description:
      'Rows that the answer to a query may hold, for each caller. A query that asks for more is 400, an answer that holds more is cut. 0 for no limit.',
    default: 0,
    minimum: 0,
    maximum: 999_999_999,
  }),
  'role-limits': texts({
    description:
      'Other limits for a role, each `role:limit=number` with `max-requests-per-second`, `max-concurrent-queries`, `query-timeout-ms` or `max-rows-per-query`. Of several roles the most generous counts.',
    default: [],
  }),
  'caller-limits': texts({
    description:
      'Other limits for one caller, each `name:limit=number` with a service token’s object name (its access key, where it was made by the REST interface) or a user’s id, and the limits of `role-limits`, over which they win.',
    default: [],
  }),
  'leader-lease': text({ description: 'Name of the operators’ Lease.', default: 'olap-warden-operator' }),
  'token-grace': duration({
    description: 'How long the token before a rotation works on.',
    default: 86_400_000,
  }),
  'ui-folder': Type.Optional(
    text({
      description: 'Folder of the built dashboard.',
      computedDefault: '`web/dist` beside the program',
      unit: 'path',
    }),
  ),
  'shutdown-grace': duration({
    description: 'How long requests under way may take at the end of the process.',
    default: 30_000,
  }),
});
export type Settings = Static<typeof SettingsSchema>;

export const SETTING_KEYS = keysOf(SettingsSchema);

/** What must hold between settings. */
export function settingsProblems(settings: Settings): string[] {
  const problems: string[] = [];
  if ((settings['tls-cert-file'] === undefined) !== (settings['tls-key-file'] === undefined))
    problems.push('`tls-cert-file` and `tls-key-file` must be set together');
  if (settings['oidc-issuer'] !== undefined && settings['oidc-audiences'].length === 0)
    problems.push('`oidc-audiences` is empty: with `oidc-issuer`, name the audience that tokens for this gateway have');
  if (settings['oidc-client-id'] !== undefined && settings['oidc-issuer'] === undefined)
    problems.push('`oidc-client-id` is set, but `oidc-issuer` is not');
  if (settings.controllers.length === 0)
    problems.push('`controllers` is empty: name at least one controller of the engine');
  if (settings.peers.length > 0 && settings['peers-service'] !== undefined)
    problems.push('`peers` and `peers-service` are both set: one of them is enough');
  if (settings.port !== 0 && settings.port === settings['metrics-port'])
    problems.push(`\`port\` and \`metrics-port\` are both ${settings.port}`);
  return problems;
}
