import { Registry } from 'prom-client';
import { describe, expect, it } from 'vitest';
import { observeExpiries } from '../../../../src/operator/reconcilers/expiry-metrics.ts';
import { roleAssignment, serviceToken } from '../../../builders/resources.ts';

const NOW = Date.parse('2026-01-01T00:00:00Z');
const until = (name: string, expiresAt?: string) => ({
  type: 'user-email' as const,
  name,
  ...(expiresAt === undefined ? {} : { expiresAt }),
});

async function scrape(registry: Registry): Promise<string[]> {
  const text = await registry.metrics();
  return text.split('\n').filter((line) => line.startsWith('olap_warden_'));
}

describe('the metrics of expiries', () => {
  it('count subjects and service tokens that expire within 24 hours and expired ones, by the clock of the scrape', async () => {
    const clock = { time: NOW, now: () => clock.time };
    const registry = new Registry();
    const assignments = [
      roleAssignment('a', {
        subjects: [until('x', '2026-01-02T00:00:00Z'), until('y', '2026-01-02T00:00:01Z'), until('z')],
      }),
      roleAssignment('b', { subjects: [until('x', '2025-12-31T00:00:00Z'), until('v', 'no time')] }),
    ];
    const tokens = [
      serviceToken('soon', { expiresAt: '2026-01-02T00:00:00Z' }),
      serviceToken('old', { expiresAt: '2025-12-31T00:00:00Z' }),
      serviceToken('lasting'),
    ];
    observeExpiries(registry, () => ({ assignments, tokens }), clock);
    expect(await scrape(registry)).toEqual([
      'olap_warden_role_assignment_subjects_expiring 1',
      'olap_warden_role_assignment_subjects_expired 2',
      'olap_warden_service_tokens_expiring 1',
      'olap_warden_service_tokens_expired 1',
    ]);
    clock.time = Date.parse('2026-01-02T00:00:00Z');
    expect(await scrape(registry)).toEqual([
      'olap_warden_role_assignment_subjects_expiring 1',
      'olap_warden_role_assignment_subjects_expired 3',
      'olap_warden_service_tokens_expiring 0',
      'olap_warden_service_tokens_expired 2',
    ]);
  });

  it('are absent in a process that does not lead', async () => {
    const registry = new Registry();
    let leads = true;
    observeExpiries(registry, () => (leads ? { assignments: [], tokens: [] } : undefined), { now: () => NOW });
    expect(await scrape(registry)).toHaveLength(4);
    leads = false;
    expect(await scrape(registry)).toEqual([]);
  });
});
