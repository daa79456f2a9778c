import { Gauge } from 'prom-client';
import { missingFields } from '../../kubernetes/definitions.ts';
import type { KubernetesTransport } from '../../kubernetes/transport.ts';
import { systemClock } from '../../platform/clock.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import type { CustomKind } from '../../resources/kinds.ts';
import type { Boot } from './boot.ts';

const INTERVAL_MS = 5 * 60_000;
/** Fields in a log line. */
const MAX_FIELDS = 10;

/** Name, help and labels of the metric. */
export const DEFINITIONS_METRIC = {
  name: 'olapwarden_operator_definitions_outdated',
  help: '1 if the custom resource definition in the cluster lacks fields of this version, otherwise 0; absent before it is known.',
  labelNames: ['kind'],
};

/** Compares the definitions in the cluster with those of this version, every five minutes. `boot.closers` ends it. */
export function watchDefinitions({ registry, log, closers }: Boot, transport: KubernetesTransport): void {
  let outdated: ReadonlyMap<CustomKind, readonly string[]> = new Map();
  let logged = '';
  const gauge = new Gauge({
    ...DEFINITIONS_METRIC,
    registers: [],
    collect() {
      this.reset();
      for (const [kind, fields] of outdated) this.set({ kind }, fields.length > 0 ? 1 : 0);
    },
  });
  registry.registerMetric(gauge);
  const check = async (signal: AbortSignal): Promise<void> => {
    outdated = await missingFields(transport, signal);
    const fields = [...outdated].flatMap(([kind, missing]) => missing.map((field) => `${kind} ${field}`));
    if (fields.join() === logged) return;
    logged = fields.join();
    if (fields.length > 0)
      log.warn(
        { missing: fields.length, fields: fields.slice(0, MAX_FIELDS) },
        'the custom resource definitions are older than this operator: apply those of this version',
      );
  };
  const stop = runPeriodically(check, {
    clock: systemClock,
    intervalMs: INTERVAL_MS,
    onError: (error) => log.info({ err: error }, 'cannot read the schemas of the custom resources'),
  });
  closers.defer('definitions', stop);
}
