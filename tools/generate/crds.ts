import { stringify } from 'yaml';
import { customResourceDefinition } from '../../src/resources/crd.ts';
import { CUSTOM_KINDS, KINDS } from '../../src/resources/kinds.ts';
import type { GeneratedFiles } from './generator.ts';

const HEADER = '# Written by `make generate` from src/resources/. Change the schema there, not this file.\n';

/** crds/<plural>.yaml for every kind. Nothing else may stand in that folder: `kubectl apply -f crds/` has to work. */
export function generateCrds(): GeneratedFiles {
  const files = new Map<string, string>();
  for (const kind of CUSTOM_KINDS) {
    files.set(
      `crds/${KINDS[kind].plural}.yaml`,
      HEADER + stringify(customResourceDefinition(kind), { lineWidth: 120 }),
    );
  }
  return files;
}
