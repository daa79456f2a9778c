import { errorMessage } from '../platform/plain-error.ts';
import { migrateStorage, SETTLE_MS, storedVersions } from '../kubernetes/storage-migration.ts';
import { KubernetesTransport } from '../kubernetes/transport.ts';
import type { Clock } from '../platform/clock.ts';
import { CUSTOM_KINDS, type CustomKind } from '../resources/kinds.ts';
import { EXIT, type CommandContext } from './context.ts';
import { kubernetesConfiguration } from './parts/kubernetes.ts';
import { VERSION } from './version.ts';

/** The arguments of `migrate-storage`. */
export interface MigrationRequest {
  /** Default: `KUBECONFIG`, `~/.kube/config`, or the account of the pod. */
  readonly kubeconfig: string | undefined;
  /** Only print the versions. */
  readonly dryRun: boolean;
}

/** What `migrate-storage` uses of its process. */
export interface MigrationContext extends CommandContext {
  readonly clock: Clock;
  /** Aborts when the user interrupts the command. */
  readonly signal: AbortSignal;
}

/** Moves the objects of all kinds to the storage version of their definitions. @returns the exit code */
export async function runMigration(request: MigrationRequest, context: MigrationContext): Promise<number> {
  const { stdout, stderr, signal, clock } = context;
  let transport: KubernetesTransport | undefined;
  try {
    const options = { clock, userAgent: `olap-warden/${VERSION}` };
    transport = new KubernetesTransport(await kubernetesConfiguration(request.kubeconfig), options);
    const outdated: CustomKind[] = [];
    for (const kind of CUSTOM_KINDS) {
      const { definition, storage, stored } = await storedVersions(transport, kind, signal);
      const others = stored.filter((version) => version !== storage);
      if (others.length > 0) outdated.push(kind);
      const also = others.length > 0 ? `; objects may be stored in ${others.join(', ')}` : '';
      stdout(`${definition}: storage version ${storage}${also}\n`);
    }
    if (request.dryRun || outdated.length === 0) return EXIT.ok;
    stderr(`waiting ${SETTLE_MS / 1000} s until all API servers use the definitions\n`);
    return await migrateKinds(transport, outdated, context);
  } catch (error) {
    stderr(messageOf(error, signal));
    return EXIT.failed;
  } finally {
    await transport?.close();
  }
}

/** A kind that fails does not stop the others. @returns the exit code */
async function migrateKinds(
  transport: KubernetesTransport,
  kinds: readonly CustomKind[],
  { stdout, stderr, signal, clock }: MigrationContext,
): Promise<number> {
  const migrations = kinds.map(async (kind) => {
    const { definition, storage, objects } = await migrateStorage(transport, kind, { clock, signal });
    stdout(`${definition}: all ${objects} objects are stored in ${storage}\n`);
  });
  const failures = (await Promise.allSettled(migrations)).filter((outcome) => outcome.status === 'rejected');
  for (const { reason } of failures.slice(0, signal.aborted ? 1 : failures.length)) stderr(messageOf(reason, signal));
  return failures.length > 0 ? EXIT.failed : EXIT.ok;
}

function messageOf(error: unknown, signal: AbortSignal): string {
  if (signal.aborted) return 'error: interrupted; start the command again\n';
  return `error: ${errorMessage(error)}\n`;
}
