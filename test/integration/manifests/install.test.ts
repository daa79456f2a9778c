import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policy } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { eventually } from '../../support/operator.ts';
import { INSTALL_MANIFEST, renderInstallManifest } from '../../../tools/generate/install-manifest.ts';
import { helmTools } from '../../../tools/helm/render.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

// Its own control plane, because the manifest installs cluster-scoped objects.
let api: ControlPlane;

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
});
afterAll(() => api.stop());

describe('manifests/install.yaml', () => {
  it('is equal to the rendered chart', async () => {
    const content = await renderInstallManifest(join(await helmTools(), 'helm'));
    // Compared as a whole, because a diff of a thousand lines does not help.
    expect((await readFile(INSTALL_MANIFEST, 'utf8')) === content, 'run `make manifests`').toBe(true);
  });

  it('installs everything with one command; `make undeploy` keeps the custom resources', async () => {
    await api.mustKubectl(['apply', '--server-side', '-f', INSTALL_MANIFEST]);
    await api.mustKubectl(['-n', 'olap', 'rollout', 'status', 'deploy/olap-warden-operator', '--watch=false']);
    await api.mustKubectl([
      'wait',
      '--for=condition=Established',
      KUBECTL_TIMEOUT,
      'crd',
      '-l=app.kubernetes.io/part-of=olap-warden',
    ]);
    // An API server may not serve an established kind immediately.
    await eventually(
      () => api.kubectl(['-n', 'olap', 'apply', '-f', '-'], { input: JSON.stringify(policy('mine')) }),
      ({ code }) => code === 0,
    );

    await api.mustKubectl(['delete', '-f', INSTALL_MANIFEST, '-l', 'app.kubernetes.io/instance=olap-warden']);
    const left = await api.mustKubectl(['-n', 'olap', 'get', 'all,policies.olapwarden.io', '-o', 'name']);
    expect(left.stdout.trim()).toBe('policy.olapwarden.io/mine');
    const rules = 'clusterroles,clusterrolebindings,mutatingadmissionpolicies,validatingadmissionpolicies';
    const global = await api.mustKubectl(['get', rules, '-l', 'app.kubernetes.io/part-of=olap-warden', '-o', 'name']);
    expect(global.stdout).toBe('');
  });
});
