// manifests/install.yaml, from the chart with its default values, for plain `kubectl apply`. Helm makes it, so it is no part of
// `make generate`, which needs Node alone:
//   node tools/generate/install-manifest.ts            writes it (`make manifests`)
//   node tools/generate/install-manifest.ts --check    says whether it is out of date, and exits 1 then
import { readFile, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { helmTools, render } from '../helm/render.ts';

/** Where the manifest lies. */
export const INSTALL_MANIFEST = resolve(import.meta.dirname, '../../manifests/install.yaml');

const HEAD = `# Generated from charts/olap-warden by \`make manifests\`; do not edit.
#   kubectl apply --server-side -f install.yaml
# Then name your controllers in the ConfigMap \`olap-warden\` and restart: kubectl -n olap rollout restart deploy,statefulset
# Needs Kubernetes 1.36 (MutatingAdmissionPolicy); on older clusters, or with other values, use the chart.
apiVersion: v1
kind: Namespace
metadata:
  name: olap
  labels:
    app.kubernetes.io/part-of: olap-warden
    pod-security.kubernetes.io/enforce: restricted
`;

/** Lines that only Helm reads. */
const OF_HELM = /^(# Source: .*|\s*helm\.sh\/chart: .*|\s*app\.kubernetes\.io\/managed-by: Helm)\n/gm;

/** The content that manifests/install.yaml must have. @param helm path of the program */
export async function renderInstallManifest(helm: string): Promise<string> {
  // Whoever deletes by the file means all of it: no annotation of Helm's keeps the definitions.
  const values = { crds: { keep: false } };
  const rendered = await render(helm, { name: 'install.yaml', values }, { flags: ['--no-hooks', '--skip-tests'] });
  return HEAD + rendered.replaceAll(OF_HELM, '');
}

if (import.meta.main) {
  const { values } = parseArgs({ options: { check: { type: 'boolean', default: false } } });
  const content = await renderInstallManifest(join(await helmTools(), 'helm'));
  if (!values.check) await writeFile(INSTALL_MANIFEST, content);
  else if ((await readFile(INSTALL_MANIFEST, 'utf8')) !== content) {
    process.stderr.write('out of date: manifests/install.yaml\nrun `make manifests` and commit what it changed\n');
    process.exitCode = 1;
  }
}
