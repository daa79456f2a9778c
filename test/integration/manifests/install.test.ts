import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { policy } from '../../builders/resources.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { applyManifests, recordsAuthors } from '../../support/kubernetes/manifests.ts';
import { eventually } from '../../support/operator.ts';
import { INSTALL_MANIFEST, renderInstallManifest } from '../../../tools/generate/install-manifest.ts';
import { helmTools } from '../../../tools/helm/render.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';

// Its own control plane, because the manifest installs cluster-scoped objects.
let api: ControlPlane;
let authors: boolean;

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  authors = await recordsAuthors(api);
});
afterAll(() => api.stop());

describe('manifests/install.yaml', () => {
  it('is equal to the rendered chart', async () => {
    const content = await renderInstallManifest(join(await helmTools(), 'helm'));
    // Compared as a whole, because a diff of a thousand lines does not help.
    expect((await readFile(INSTALL_MANIFEST, 'utf8')) === content, 'run `make manifests`').toBe(true);
  });

  it('installs everything with one command; `make undeploy` keeps the custom resources', async () => {
    await applyManifests(api, ['--server-side', '-f', INSTALL_MANIFEST]);
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

    const deletion = ['delete', '-f', INSTALL_MANIFEST, '-l', 'app.kubernetes.io/instance=olap-warden'];
    if (authors) await api.mustKubectl(deletion);
    else expect((await api.kubectl(deletion)).stderr).toContain('no matches for kind "MutatingAdmissionPolicy"');
    const left = await api.mustKubectl(['-n', 'olap', 'get', 'all,policies.olapwarden.io', '-o', 'name']);
    expect(left.stdout.trim()).toBe('policy.olapwarden.io/mine');
    const rules = `clusterroles,clusterrolebindings,validatingadmissionpolicies${authors ? ',mutatingadmissionpolicies' : ''}`;
    const global = await api.mustKubectl(['get', rules, '-l', 'app.kubernetes.io/part-of=olap-warden', '-o', 'name']);
    expect(global.stdout).toBe('');
  });
});
