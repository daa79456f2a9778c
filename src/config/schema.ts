import { Type, type Static } from 'typebox';
import { formatDuration } from '../platform/duration.ts';
import { keysOf } from './keys.ts';
import { ACCESS_SETTINGS } from './schema/access.ts';
import { GATEWAYS_SETTINGS } from './schema/gateways.ts';
import { HEALTH_SETTINGS } from './schema/health.ts';
import { KUBERNETES_SETTINGS } from './schema/kubernetes.ts';
import { LIMITS_SETTINGS } from './schema/limits.ts';
import { PINOT_SETTINGS } from './schema/pinot.ts';
import { PROCESS_SETTINGS } from './schema/process.ts';

/** The settings of the process, read once at start. */
export const SettingsSchema = Type.Object({
  ...PROCESS_SETTINGS,
  ...PINOT_SETTINGS,
  ...HEALTH_SETTINGS,
  ...ACCESS_SETTINGS,
  ...KUBERNETES_SETTINGS,
  ...GATEWAYS_SETTINGS,
  ...LIMITS_SETTINGS,
});
export type Settings = Static<typeof SettingsSchema>;

export const SETTING_KEYS = keysOf(SettingsSchema.properties);

/** It is the name of a ClusterHealthReport and of a folder. The report `cluster` is that of the first cluster. */
const CLUSTER_NAME = /^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/u;

/** Above the time after which a connection that does not work is noticed. */
const MIN_VIEW_AGE_MS = 30_000;

/** Problems between settings. */
export function settingsProblems(settings: Settings): string[] {
  const { controllers, peers, port } = settings;
  const isSet = (name: keyof Settings): boolean => settings[name] !== undefined;
  const rules: readonly (readonly [isWrong: boolean, problem: string])[] = [
    [isSet('tls-cert-file') !== isSet('tls-key-file'), '`tls-cert-file` and `tls-key-file` must be set together'],
    [
      isSet('tls-client-ca-file') && !isSet('tls-cert-file'),
      'missing `tls-cert-file`: it is required with `tls-client-ca-file`',
    ],
    [
      isSet('oidc-issuer') && settings['oidc-audiences'].length === 0,
      'missing `oidc-audiences`: it is required with `oidc-issuer`; set the audience of tokens for this gateway',
    ],
    [settings['audit-required'] && !isSet('audit-file'), 'missing `audit-file`: it is required with `audit-required`'],
    [isSet('oidc-client-id') && !isSet('oidc-issuer'), 'missing `oidc-issuer`: it is required with `oidc-client-id`'],
    [
      settings['recover-admin'] && isSet('token-file'),
      '`recover-admin` and `token-file` are both set: the recovered token is in `tokens.jsonl` of the data folder; start without `token-file`, or add a line to that file',
    ],
    [
      settings['further-cluster'] && (settings.cluster === 'cluster' || !CLUSTER_NAME.test(settings.cluster)),
      `invalid \`cluster\`: with \`further-cluster\` it must be a name of lowercase letters, digits and \`-\` other than \`cluster\`, not \`${settings.cluster}\``,
    ],
    [controllers.length === 0, '`controllers` is empty: set at least one Pinot controller'],
    [peers.length > 0 && isSet('peers-service'), '`peers` and `peers-service` are both set: set only one'],
    [
      port !== 0 && port === settings['metrics-port'],
      `\`port\` and \`metrics-port\` are both ${port}: they must differ`,
    ],
  ];
  const problems = rules.filter(([isWrong]) => isWrong).map(([, problem]) => problem);
  return [...problems, ...webhookProblems(settings), ...viewAgeProblems(settings['max-view-age'])];
}

/** The messages do not contain the URL: it can have a secret. */
function webhookProblems(settings: Settings): string[] {
  const text = settings['health-webhook-url'];
  if (text === undefined) {
    return settings['health-webhook-credential-file'] === undefined
      ? []
      : ['missing `health-webhook-url`: it is required with `health-webhook-credential-file`'];
  }
  const url = URL.parse(text);
  if (url === null || !/^https?:$/u.test(url.protocol))
    return ['invalid `health-webhook-url`: it must be an https URL'];
  if (url.username !== '' || url.password !== '')
    return ['invalid `health-webhook-url`: a credential belongs into `health-webhook-credential-file`'];
  if (url.protocol === 'http:' && !settings['health-webhook-allow-http'])
    return ['invalid `health-webhook-url`: it must be an https URL, unless `health-webhook-allow-http` is set'];
  return [];
}

function viewAgeProblems(viewAge: number): string[] {
  if (viewAge === 0 || viewAge >= MIN_VIEW_AGE_MS) return [];
  const written = formatDuration(viewAge);
  return [`invalid \`max-view-age\`: ${written} is less than 30s; the view is up to 25 s old without any outage`];
}
