import { describe, expect, it } from 'vitest';
import type { Secret } from '../../../src/resources/kinds.ts';
import { LABELS } from '../../../src/resources/meta.ts';
import { SERVICE_TOKEN_PART, SERVICE_TOKEN_SECRET_PART, withPartLabel } from '../../../src/store/secret-label.ts';
import { apiResource } from '../../../src/kubernetes/objects.ts';

function secret(part?: string): Secret {
  const labels = part === undefined ? {} : { labels: { [LABELS.part]: part } };
  return { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'a', ...labels } };
}

describe('the label of a Secret', () => {
  it('is that of a hash if the object has none', () => {
    expect(withPartLabel('Secret', secret()).metadata.labels).toEqual({ [LABELS.part]: SERVICE_TOKEN_PART });
  });

  it('is kept if the store selects it', () => {
    for (const part of [SERVICE_TOKEN_PART, SERVICE_TOKEN_SECRET_PART]) {
      expect(withPartLabel('Secret', secret(part)).metadata.labels).toEqual({ [LABELS.part]: part });
    }
  });

  it('is rejected if the store does not select it', () => {
    const write = (part: string) => () => withPartLabel('Secret', secret(part), [SERVICE_TOKEN_PART]);
    expect(write(SERVICE_TOKEN_SECRET_PART)).toThrow(
      'Secret `a`: the label `olapwarden.io/part` is `service-token-secret`; it must be `service-token` or absent',
    );
    expect(write('other')).toThrow('`other`');
  });
});

describe('the Secrets that a store lists', () => {
  it('include those with tokens only on request', () => {
    expect(apiResource('Secret', 'olap').labelSelector).toBe(
      'olapwarden.io/part in (service-token,service-token-secret)',
    );
    expect(apiResource('Secret', 'olap', [SERVICE_TOKEN_PART]).labelSelector).toBe(
      'olapwarden.io/part in (service-token)',
    );
  });
});
