import { stringify } from 'yaml';
import { customResourceDefinition } from '../../src/resources/crd.ts';
import { CUSTOM_KINDS, KINDS } from '../../src/resources/kinds.ts';
import type { GeneratedFiles } from './generator.ts';

const HEADER = '# Written by `make generate` from src/resources/. Change the schema there, not this file.\n';

/** crds/<plural>.yaml for every kind, and the kustomization that lists them. */
export function generateCrds(): GeneratedFiles {
  const files = new Map<string, string>();
  for (const kind of CUSTOM_KINDS) {
    files.set(
      `crds/${KINDS[kind].plural}.yaml`,
      HEADER + stringify(customResourceDefinition(kind), { lineWidth: 120 }),
    );
  }
  const kustomization = {
    apiVersion: 'kustomize.config.k8s.io/v1beta1',
    kind: 'Kustomization',
    resources: CUSTOM_KINDS.map((kind) => `${KINDS[kind].plural}.yaml`),
  };
  files.set('crds/kustomization.yaml', HEADER + stringify(kustomization));
  return files;
}
