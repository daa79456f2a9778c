import { parseArgs } from 'node:util';
import { errorMessage } from '../platform/plain-error.ts';
import { EXIT } from '../app/context.ts';
import { runMigration, type MigrationContext, type MigrationRequest } from '../app/migrate-storage.ts';

/** Help of `olap-warden migrate-storage`. */
export const MIGRATION_USAGE = `Usage: olap-warden migrate-storage [options]

Stores all custom resources of a Kubernetes cluster in the storage version of their definitions, and removes the other
versions from the definitions' status.storedVersions. Run it after an upgrade whose notes say so. It can be interrupted
and repeated. It needs the rights to get customresourcedefinitions, to patch customresourcedefinitions/status, and to
list and patch the custom resources of all namespaces.

Options:
  --kubeconfig FILE   kubeconfig of the cluster (default: KUBECONFIG, ~/.kube/config, or the account of the pod)
  --dry-run           only print the versions
  -h, --help          print this help

Exit code: 0 all objects have the storage version (with --dry-run: the versions are printed); 1 failed; 2 usage error.
`;

/** Runs `olap-warden migrate-storage`. @returns the exit code */
export async function runMigrateStorage(context: MigrationContext): Promise<number> {
  let request: MigrationRequest | 'help';
  try {
    request = parseMigration(context.args);
  } catch (error) {
    context.stderr(`error: ${errorMessage(error)}\n\n${MIGRATION_USAGE}`);
    return EXIT.usage;
  }
  if (request !== 'help') return runMigration(request, context);
  context.stdout(MIGRATION_USAGE);
  return EXIT.ok;
}

/** @throws {Error} usage error */
function parseMigration(args: readonly string[]): MigrationRequest | 'help' {
  const { values } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: false,
    options: {
      kubeconfig: { type: 'string' },
      'dry-run': { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h' },
    },
  });
  if (values.help === true) return 'help';
  return { kubeconfig: values.kubeconfig, dryRun: values['dry-run'] };
}
