import { Gauge, type Registry } from 'prom-client';
import type { Policy } from '../../resources/kinds.ts';
import { policyConditionsOf } from '../health/policy-conditions.ts';

/**
 * Exports the number of policies whose conditions cannot be used, by their status.
 * @param read all policies; undefined if this process does not lead: it then exports no value
 */
export function observeConditions(registry: Registry, read: () => readonly Policy[] | undefined): void {
  registry.registerMetric(
    new Gauge({
      name: 'olap_warden_policy_conditions_invalid',
      help: 'Policies with row filters, columns or masks that are invalid, or name columns that no table of their statement has.',
      registers: [],
      collect() {
        this.reset();
        const policies = read();
        // reset() sets a gauge without labels to 0.
        if (policies === undefined) return this.remove();
        this.set(policyConditionsOf(policies).filter(({ fault }) => fault.ok && fault.value !== undefined).length);
      },
    }),
  );
}
