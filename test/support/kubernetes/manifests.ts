import { join } from 'node:path';
import type { ControlPlaneClient } from '../control-plane.ts';

const MANIFESTS = join(import.meta.dirname, '../../../manifests');
const GROUP = 'admissionregistration.k8s.io';

/** Reason for which tests of recorded authors are skipped. */
export const WITHOUT_AUTHORS = 'this API server has no MutatingAdmissionPolicy v1 (Kubernetes 1.36)';

/** Whether the API server has the kind of the policy that records authors, by its discovery. */
export async function recordsAuthors(api: ControlPlaneClient): Promise<boolean> {
  const { stdout } = await api.mustKubectl(['get', '--raw', `/apis/${GROUP}/v1`]);
  const { resources } = JSON.parse(stdout) as { resources: { kind: string }[] };
  return resources.some(({ kind }) => kind === 'MutatingAdmissionPolicy');
}

/**
 * Applies `manifests/`. On an API server without MutatingAdmissionPolicy, kubectl applies everything else and exits with 1.
 * @param source the folder by default, or the flags of another source
 * @throws {Error} when another object was not applied
 */
export async function applyManifests(
  api: ControlPlaneClient,
  source: readonly string[] = ['--server-side', '-k', MANIFESTS],
): Promise<void> {
  if (await recordsAuthors(api)) {
    await api.mustKubectl(['apply', ...source]);
    return;
  }
  const { stderr } = await api.kubectl(['apply', ...source]);
  const problems = stderr
    .split('\n')
    .filter((line) => !/^(?:Warning: .*|ensure CRDs are installed first|)$/u.test(line));
  const expected = ['MutatingAdmissionPolicy', 'MutatingAdmissionPolicyBinding'].map(
    (kind) => `no matches for kind "${kind}" in version "${GROUP}/v1"`,
  );
  const others = problems.filter((line) => !expected.some((problem) => line.endsWith(problem)));
  if (others.length > 0 || problems.length !== expected.length) throw new Error(`kubectl apply failed: ${stderr}`);
}
