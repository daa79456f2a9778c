import { flagsHelp } from '../config/reference.ts';

export const COMMANDS = ['standalone', 'gateway', 'operator', 'check', 'audit', 'access'] as const;
export type CommandName = (typeof COMMANDS)[number];

/** Commands that serve until a termination signal. */
export const SERVICES: ReadonlySet<string> = new Set<CommandName>(['standalone', 'gateway', 'operator']);

export const USAGE = `Access control, cluster health and paginated queries for Apache Pinot.

Usage: olap-warden <command> [flags]

Commands:
  standalone        Operator and gateway in one process; resources in a folder of manifests
  gateway           REST API and dashboard; resources in a Kubernetes API
  operator          Reconciles the resources in a Kubernetes API and runs the health checks
  check             Runs the health checks once against a Pinot cluster and prints the report
  audit             Verifies that audit files are complete and unchanged
  access            Compares, tests and checks roles and policies in Git

  olap-warden <command> --help   the flags of a command
  olap-warden --version          the version
`;

/** Help of the commands that run as a service. */
export function serviceHelp(command: string): string {
  return `Usage: olap-warden ${command} [flags]

Every setting can also be an environment variable (--log-level: OLAP_WARDEN_LOG_LEVEL) or a key in the file of --config.
docs/configuration.md in the source describes all settings and properties.

Flags:
  --config                    YAML or properties file with settings and properties
  --set                       A property, key=value; can be repeated
${flagsHelp()}
`;
}
