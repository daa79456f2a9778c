import { describe, expect, it } from 'vitest';
import { readManifests } from '../../../../src/store/manifests/manifest-set.ts';
import { lineOf, YamlReader } from '../../../../src/store/manifests/yaml-documents.ts';

describe('the lines of a manifest', () => {
  it('are found by parsing its text once more, however many are asked for', () => {
    let read = 0;
    const document = {
      linesBefore: 10,
      get text(): string {
        read++;
        return 'items:\n- {}\n- {}\n';
      },
    };
    expect([0, 1].map((at) => lineOf(document, ['items', at]))).toEqual([12, 13]);
    expect(read).toBe(1);
  });

  it('are only looked for where they are shown', () => {
    const text = `apiVersion: v1\nkind: List\nitems:\n${'- {}\n'.repeat(100)}`;
    const read = (): unknown => readManifests([{ path: 'many.yaml', text }], new YamlReader());
    expect(read).toThrow(/^many\.yaml:4: not a manifest[^]*\nmany\.yaml:23: [^\n]*\nand 80 more$/);
  });
});
