// Generates manifests/install.yaml from the chart with its default values, for `kubectl apply`. It requires Helm and is therefore not part of
// `make generate`, which requires only Node:
//   node tools/generate/install-manifest.ts            writes it (`make manifests`)
//   node tools/generate/install-manifest.ts --check    exits 1 when it is out of date
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { helmTools, render } from '../helm/render.ts';

/** Path of the manifest. */
export const INSTALL_MANIFEST = resolve(import.meta.dirname, '../../manifests/install.yaml');

const HEAD = `# Generated from charts/olap-warden by \`make manifests\`; do not edit.
#   kubectl apply --server-side -f install.yaml
# Then set your controllers in the ConfigMap \`olap-warden\` and restart: kubectl -n olap rollout restart deploy,statefulset
# Requires Kubernetes 1.36 (MutatingAdmissionPolicy); on older clusters, or with other values, use the chart.
apiVersion: v1
kind: Namespace
metadata:
  name: olap
  labels:
    app.kubernetes.io/part-of: olap-warden
    pod-security.kubernetes.io/enforce: restricted
`;

/** Lines that are only for Helm. */
const OF_HELM = /^(# Source: .*|\s*helm\.sh\/chart: .*|\s*app\.kubernetes\.io\/managed-by: Helm)\n/gm;

/** The content of manifests/install.yaml. @param helm path of the program */
export async function renderInstallManifest(helm: string): Promise<string> {
  // `kubectl delete` with this file must delete the definitions: omit Helm's annotation that keeps them.
  const values = { crds: { keep: false } };
  const rendered = await render(helm, { name: 'install.yaml', values }, { flags: ['--no-hooks', '--skip-tests'] });
  return HEAD + rendered.replaceAll(OF_HELM, '');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
  const content = await renderInstallManifest(join(await helmTools(), 'helm'));
  if (!values.check) await writeFile(INSTALL_MANIFEST, content);
  else if ((await readFile(INSTALL_MANIFEST, 'utf8')) !== content) {
    process.stderr.write('out of date: manifests/install.yaml\nrun `make manifests` and commit the changes\n');
    process.exitCode = 1;
  }
}
