import { stringify } from 'yaml';
import { customResourceDefinition } from '../../src/resources/crd.ts';
import { CUSTOM_KINDS, KINDS } from '../../src/resources/kinds.ts';
import type { GeneratedFiles } from './generator.ts';

const HEADER = '# Generated from src/resources/ by `make generate`; do not edit.\n';

/** Generates crds/<plural>.yaml for all kinds. The folder must not contain other files, because of `kubectl apply -f crds/`. */
export function generateCrds(): GeneratedFiles {
  const files = new Map<string, string>();
  for (const kind of CUSTOM_KINDS) {
    files.set(
      `crds/${KINDS[kind].plural}.yaml`,
      HEADER + stringify(customResourceDefinition(kind), { lineWidth: 120, aliasDuplicateObjects: false }),
    );
  }
  return files;
}
