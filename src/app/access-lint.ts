import { lint } from '../access/plan/lint.ts';
import type { Deployment } from '../access/policy/srn.ts';
import { systemClock, type WallClock } from '../platform/clock.ts';
import { YamlReader } from '../store/manifests/yaml-documents.ts';
import { ACCESS_EXIT } from './access-plan.ts';
import { placeIn, readSide } from './parts/access-sides.ts';
import type { CommandContext } from './parts/context.ts';

/** The arguments of `access lint`. */
export interface LintRequest {
  /** Files and folders of manifests. */
  readonly manifests: readonly string[];
  readonly environment: string;
  /** Names of the clusters of the environment; none where they are not known. */
  readonly clusters: readonly string[];
  readonly namespace: string | undefined;
}

/** Prints what of the policies has no effect. @returns the exit code @throws {Error} what cannot be read, and where */
export async function accessLint(
  { manifests, environment, clusters, namespace }: LintRequest,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  signal: AbortSignal,
  clock: WallClock = systemClock,
): Promise<number> {
  const [cluster = '', ...others] = clusters;
  const deployment: Deployment = { environment, cluster };
  const options = { reader: new YamlReader(), namespace, deployment, clock, signal };
  const side = await readSide({ from: 'files', paths: manifests }, options);
  for (const note of side.notes) stderr(`note: ${note}\n`);
  const findings = lint(side.set, {
    anyCluster: clusters.length === 0,
    otherClusters: others.map((name) => ({ cluster: name, tables: undefined })),
  });
  for (const { policy, path, message } of findings) {
    const place = placeIn(side, { kind: 'Policy', name: policy, path });
    stdout(`${place === undefined ? '' : `${place}: `}Policy \`${policy}\`: ${message}\n`);
  }
  const count = side.set.policies.length;
  stdout(`${findings.length === 0 ? 'nothing found' : `${findings.length} findings`} in ${count} policies\n`);
  return findings.length > 0 ? ACCESS_EXIT.fail : ACCESS_EXIT.pass;
}
