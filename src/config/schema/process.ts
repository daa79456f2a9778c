import { Type } from 'typebox';
import { LOG_LEVELS } from '../../platform/logging.ts';
import { choice, duration, flag, integer, text, texts } from '../../platform/setting-schema.ts';

const port = (description: string, env: string, value: number) =>
  integer({ description, env, default: value, minimum: 0, maximum: 65_535 });

/** The listeners, the log and the folders of a process. */
export const PROCESS_SETTINGS = {
  port: port('Port of the REST API and the dashboard. 0 selects a free port.', 'PORT', 8080),
  'metrics-port': port('Port of `/livez`, `/readyz` and `/metrics`. 0 selects a free port.', 'METRICS_PORT', 9090),
  host: Type.Optional(
    text({
      description: 'Listen address of both ports.',
      computedDefault: '`0.0.0.0`; in standalone `127.0.0.1`',
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
  'tls-min-version': choice(['1.2', '1.3'], { description: 'Minimum version of TLS.', default: '1.2' }),
  'tls-ciphers': text({
    description:
      'Accepted cipher suites by their names in OpenSSL, separated by colons. The default has forward secrecy and authenticated encryption only. Without a suite of TLS 1.3 (`TLS_…`), those of OpenSSL are used for that version.',
    default: [
      'TLS_AES_128_GCM_SHA256',
      'TLS_AES_256_GCM_SHA384',
      'TLS_CHACHA20_POLY1305_SHA256',
      'ECDHE-ECDSA-AES128-GCM-SHA256',
      'ECDHE-RSA-AES128-GCM-SHA256',
      'ECDHE-ECDSA-AES256-GCM-SHA384',
      'ECDHE-RSA-AES256-GCM-SHA384',
      'ECDHE-ECDSA-CHACHA20-POLY1305',
      'ECDHE-RSA-CHACHA20-POLY1305',
    ].join(':'),
    pattern: '^[A-Za-z0-9_-]+(:[A-Za-z0-9_-]+)*$',
    expected: 'a list of cipher suites, separated by colons',
  }),
  'tls-client-ca-file': Type.Optional(
    text({
      description:
        'PEM file of certificate authorities. Connections then need a certificate of one of them, in addition to a credential. See [install.md](install.md#client-certificates).',
      unit: 'path',
    }),
  ),
  'trust-proxy': texts({
    description: 'Addresses or networks of proxies whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted.',
    default: [],
  }),
  'audit-file': Type.Optional(
    text({
      description:
        'File for the audit records, as JSON lines, in addition to the log. Changes of access and the records of system administrators are in files beside it: `audit.jsonl`, `audit.access.jsonl`, `audit.administrators.jsonl`. Each process needs files of its own. See [rbac.md](rbac.md#the-audit-log).',
      unit: 'path',
    }),
  ),
  'audit-required': flag({
    description:
      'Refuses changes of access and other recorded writes with 503 while the audit file cannot be written. Otherwise they are made, and their records are in the log. See [rbac.md](rbac.md#while-the-audit-file-cannot-be-written).',
    default: false,
  }),
  'audit-file-max-mb': integer({
    description: 'Size in MiB at which each audit file is rotated to `<file>.1`.',
    default: 100,
    minimum: 1,
    maximum: 10_000,
  }),
  'audit-file-count': integer({
    description: 'Rotated files that are kept of each audit file.',
    default: 10,
    minimum: 1,
    maximum: 1000,
  }),
  'shutdown-grace': duration({
    description: 'Time limit for requests in progress at shutdown.',
    default: 30_000,
  }),
  'log-level': choice(LOG_LEVELS, { description: 'Minimum level of log records.', default: 'info' }),
  'node-metrics': flag({
    description:
      'Whether `/metrics` has the metrics of Node (`process_*`, `nodejs_*`). Panels of the dashboards about CPU, memory and the event loop need them.',
    default: true,
  }),
  'data-dir': text({
    description:
      'Data folder of standalone: manifests of the resources, `tokens.jsonl`, `admin-token` and `session-key`.',
    env: 'DATA_DIR',
    default: './data',
    unit: 'path',
  }),
  'ui-folder': Type.Optional(
    text({
      description: 'Folder of the built dashboard.',
      computedDefault: '`web/dist` of the installation',
      unit: 'path',
    }),
  ),
  'ui-session-key-file': Type.Optional(
    text({
      description:
        'File with the keys that seal the sessions of the dashboard: at least 32 random characters in each line. The first key seals, all are accepted. Gateways behind one address need the same file. Changes are read without a restart.',
      computedDefault: 'a key that ends with the process; in standalone `session-key` in the data folder',
      unit: 'path',
    }),
  ),
  'ui-session-max-age': duration({
    description: 'Time after the sign-in at which a session of the dashboard ends, if its token has not ended before.',
    default: 604_800_000,
    minimum: 60_000,
  }),
  'ui-colour': Type.Optional(
    choice(['red', 'orange', 'green', 'blue', 'purple', 'grey'], {
      description: 'Colour of the header of the dashboard, by which users recognize the installation.',
    }),
  ),
  'ui-contact': Type.Optional(
    text({
      description:
        'Whom to ask for access, shown in the dashboard, such as `the data platform team, #data-help`, or a link (`https:` or `mailto:`). In YAML a value with ` #` needs quotes.',
      pattern: '^.{1,200}$',
      expected: 'a text of at most 200 characters in one line',
    }),
  ),
};
