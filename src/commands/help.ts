import { flagsHelp } from '../config/reference.ts';

export const COMMANDS = ['standalone', 'gateway', 'operator', 'check'] as const;
export type CommandName = (typeof COMMANDS)[number];

export const USAGE = `Access control, cluster health and paginated queries for Apache Pinot.

Usage: olap-warden <command> [flags]

Commands:
  standalone   Operator and gateway in one process, over a folder of manifests
  gateway      The REST interfaces and the dashboard, over a Kubernetes API
  operator     Reconciles the custom resources, runs the health checks; over a Kubernetes API
  check        Runs the health checks once against a Pinot and prints the report

  olap-warden <command> --help   the flags of a command
  olap-warden --version          the version
`;

/** For the commands that run as a service. */
export function serviceHelp(command: string): string {
  return `Usage: olap-warden ${command} [flags]

Every setting can also stand in the environment (--log-level: OLAP_WARDEN_LOG_LEVEL) or in the file that --config names.
docs/configuration.md says more.

Flags:
  --config                    A YAML or properties file of settings and properties
  --set                       A property, key=value; may stand several times
${flagsHelp()}
`;
}
