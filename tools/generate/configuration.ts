import { propertiesTable, settingsTable } from '../../src/config/reference.ts';
import type { GeneratedFiles } from './generator.ts';

const PROSE_BEFORE = `# Configuration

Every setting can be given in three ways. A flag wins over an environment variable, which wins over the file, which wins over the default:

1. flags, such as \`--log-level debug\` or \`--log-level=debug\`; a flag for a list may stand several times, or hold several values separated by commas;
2. environment variables, \`OLAP_WARDEN_LOG_LEVEL=debug\`; a few have a plain name too, such as \`PORT\`;
3. one file, named by \`--config\` or \`OLAP_WARDEN_CONFIG\`: YAML, or \`key=value\` lines where its name ends in \`.properties\` or \`.conf\`.

A key that is not known, and a value that cannot be right, ends the start with a message that names the source, the key and what would be right.

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
      page.size: 5000 # nested mappings and dotted keys mean the same
\`\`\`

Variables that Kubernetes sets for a Service named \`olap-warden\` (\`OLAP_WARDEN_PORT=tcp://…\`, \`OLAP_WARDEN_SERVICE_HOST\`) are left alone.

## Settings of the process

Read once, at the start. The keys of the file are the names of the flags.

`;

const PROSE_BETWEEN = `

## Properties: paginated queries

These keys stand in the file, or behind \`--set key=value\` (which then wins over the file at every reading). Durations are written as \`500ms\`, \`30s\`, \`20m\`, \`1h30m\`, \`1d\`;
sizes as \`512KB\`, \`256MB\`, \`10GB\`.

The file is read again every two seconds, also behind the symbolic links of a mounted ConfigMap. A change marked "at once" is in force from then on, and the log names the keys; of one marked
"restart" the log says that it waits for the next start. A file that holds a mistake is refused as a whole: the log says what is wrong, the metric \`olap_warden_config_reloads_total{result="refused"}\` counts it,
and the properties stay as they were.

`;

/** docs/configuration.md, from the schemas of the settings. */
export function generateConfiguration(): GeneratedFiles {
  return new Map([
    ['docs/configuration.md', `${PROSE_BEFORE}${settingsTable()}${PROSE_BETWEEN}${propertiesTable()}\n`],
  ]);
}
