import { PROPERTIES } from '../../src/app/parts/properties.ts';
import { propertiesTable, settingsTable } from '../../src/config/reference.ts';
import type { GeneratedFiles } from './generator.ts';

const PROSE_BEFORE = `# Configuration

A setting can have four sources. A flag overrides an environment variable, which overrides the file, which overrides the default:

1. flags, such as \`--log-level debug\` or \`--log-level=debug\`; a flag for a list can be repeated, or can contain several values separated by commas;
2. environment variables, \`OLAP_WARDEN_LOG_LEVEL=debug\`; some also have a name without the prefix, such as \`PORT\`;
3. one file, set by \`--config\` or \`OLAP_WARDEN_CONFIG\`: lines \`key=value\` if its name ends in \`.properties\` or \`.conf\`, otherwise YAML.

The process does not start with an unknown key, an invalid value, or a key that the file has twice. The message names the source, the key and what would be right.
A renamed key is accepted under its former name for [at least one minor version](versions.md#what-stays-for-how-long), with a warning in the log.

\`\`\`yaml
# settings.yaml
controllers: [http://pinot-controller.pinot:9000]
environment: production
cluster: pinot
admin-subject: [user-email:you@example.com]
olap.broker.pagination.protocol: s3
olap.broker.pagination.s3.bucket: query-results
olap:
  broker:
    query:
      page.size: 5000 # nested mappings and dotted keys are equivalent
\`\`\`

Variables that Kubernetes sets for a Service named \`olap-warden\` (\`OLAP_WARDEN_PORT=tcp://…\`, \`OLAP_WARDEN_SERVICE_HOST\`) are ignored.

## Settings of the process

They are read once, at start. The keys in the file are the names of the flags without \`--\`.

`;

const PROSE_BETWEEN = `

## Proxies and certificate authorities of outgoing connections

Standard environment variables apply to all outgoing connections: to Pinot, the buckets of results, the identity provider, the webhook of health alerts, the collector of traces, and the Kubernetes API by a kubeconfig.
They are read once, at start. In the chart they are \`gateway.extraEnv\` and \`operator.extraEnv\`.

| variable | meaning |
|---|---|
| \`HTTPS_PROXY\`, \`HTTP_PROXY\` | URL of the proxy for \`https\` and for \`http\` URLs, such as \`http://user:password@proxy.example.com:3128\`. Set both, to one proxy: the client of GCS prefers \`HTTP_PROXY\`. A SOCKS proxy is refused |
| \`NO_PROXY\` | What is reached without a proxy, separated by commas: hosts (\`pinot-controller.pinot\`), domains with all their hosts (\`.svc.cluster.local\`), each with a port where needed (\`:9000\`); \`*\` for all. For Pinot also networks (\`10.0.0.0/8\`) |
| \`NODE_EXTRA_CA_CERTS\` | PEM file of private certificate authorities, in addition to the public ones. \`engine-ca-file\` replaces all of them for connections to Pinot, and a kubeconfig those for the Kubernetes API |

The names can be written in lower case, too. Connections to Pinot are tunnels (\`CONNECT\`), also for \`http\`: the proxy must allow the ports of controllers and brokers. Usually they need no proxy: name their domain in \`NO_PROXY\`.
Other gateways are never reached through a proxy, nor is the Kubernetes API from within the cluster. A proxy that refuses a connection is named in the error.

## Properties: paginated queries and health checks

These keys can be set in the file or by \`--set key=value\`, which overrides the file. Durations are written as \`500ms\`, \`30s\`, \`20m\`, \`1h30m\`, \`1d\`; sizes as
\`512KB\`, \`256MB\`, \`10GB\`.

The file is read again every two seconds, also from a mounted ConfigMap. Changes of properties marked "immediately" take effect then, and the log names their keys.
Changes of the others take effect after a restart, and the log says so. A file with an error is rejected as a whole: the log names the error, the metric
\`olap_warden_config_reloads_total{result="refused"}\` counts it, and the current properties stay in effect.

`;

/** Generates docs/configuration.md from the schemas of the settings. */
export function generateConfiguration(): GeneratedFiles {
  return new Map([
    ['docs/configuration.md', `${PROSE_BEFORE}${settingsTable()}${PROSE_BETWEEN}${propertiesTable(PROPERTIES)}\n`],
  ]);
}
