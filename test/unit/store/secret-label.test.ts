import { describe, expect, it } from 'vitest';
import { LABELS } from '../../../src/resources/meta.ts';
import { hasPartLabel, requirePartLabel } from '../../../src/store/secret-label.ts';
import { role, secret, withLabels } from '../../builders/resources.ts';

const labelled = (part: string) => secret('a', {}, withLabels({ [LABELS.part]: part }));

describe('the label of a Secret', () => {
  it('is that of a token, or of a hash of version 0.1', () => {
    for (const part of ['service-token', 'service-token-secret']) {
      expect(hasPartLabel(labelled(part))).toBe(true);
      expect(() => requirePartLabel('Secret', labelled(part))).not.toThrow();
    }
  });

  it('is required, and not required of other kinds', () => {
    const right = 'it must be `service-token` or `service-token-secret` or `session-key`';
    const message = 'Secret `a`: the label `olapwarden.io/part` is';
    expect(() => requirePartLabel('Secret', secret('a'))).toThrow(`${message} missing; ${right}`);
    expect(() => requirePartLabel('Secret', labelled('other'))).toThrow(`${message} \`other\`; ${right}`);
    expect(() => requirePartLabel('Role', role('a'))).not.toThrow();
  });
});
