import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import type { GatewayClient } from '../query/gateway-client.ts';
import type { GatewayAddress } from '../query/peers.ts';
import type { LeaderTask } from './operator.ts';

/** `controller.cluster.pagination.cleaner.*`, in milliseconds. */
export interface ResultCleanerSettings {
  readonly frequencyMs: number;
  /** Undefined: random within the period, so that deployments do not clean in step. */
  readonly initialDelayMs: number | undefined;
}

export interface ResultCleanerMetrics {
  /** A gateway was called. */
  gateway(outcome: 'success' | 'error'): void;
  deleted(results: number): void;
}

export interface ResultCleanerOptions {
  /** Every gateway of the deployment. */
  readonly gateways: () => Promise<readonly GatewayAddress[]>;
  readonly client: GatewayClient;
  /** Read anew after each run. */
  readonly settings: () => ResultCleanerSettings;
  /** Epoch milliseconds. */
  readonly now: () => number;
  /** 0 ≤ x < 1. */
  readonly random: () => number;
  readonly log: Logger;
  readonly metrics: ResultCleanerMetrics;
  /** How long a gateway may take for its part of a run; 60 s by default. */
  readonly gatewayTimeoutMs?: number;
  /** Waits; rejects when aborted. */
  readonly wait?: (ms: number, signal: AbortSignal) => Promise<void>;
}

/** What happened at one gateway. */
export interface CleaningOutcome {
  readonly gateway: string;
  readonly deleted: number;
  readonly error: string | undefined;
}

const GATEWAY_TIMEOUT_MS = 60_000;

/**
 * One run: asks every gateway for its results and deletes those that have expired. Gateways are cleaned side by side, each in its own time: one
 * that is down or slow delays none of the others. Never throws but for an abort.
 */
export async function cleanResults(options: ResultCleanerOptions, signal: AbortSignal): Promise<CleaningOutcome[]> {
  const gateways = await options.gateways();
  const outcomes = await Promise.all(gateways.map((gateway) => cleanGateway(gateway, options, signal)));
  signal.throwIfAborted();
  return outcomes;
}

async function cleanGateway(
  gateway: GatewayAddress,
  options: ResultCleanerOptions,
  signal: AbortSignal,
): Promise<CleaningOutcome> {
  const { client, metrics, now } = options;
  const name = `${gateway.host}:${gateway.port}`;
  const limited = AbortSignal.any([signal, AbortSignal.timeout(options.gatewayTimeoutMs ?? GATEWAY_TIMEOUT_MS)]);
  let deleted = 0;
  try {
    for (const { requestId, expirationTimeMs } of await client.list(gateway, limited)) {
      if (expirationTimeMs > now()) continue;
      if (await client.delete(gateway, requestId, limited)) deleted++;
    }
    metrics.gateway('success');
    return { gateway: name, deleted, error: undefined };
  } catch (error) {
    metrics.gateway('error');
    return { gateway: name, deleted, error: error instanceof Error ? error.message : String(error) };
  } finally {
    metrics.deleted(deleted);
  }
}

/** The periodic cleaner; only the leader runs it, so that two operators never clean twice. */
export function resultCleanerTask(options: ResultCleanerOptions): LeaderTask {
  const { settings, random, log } = options;
  const wait = options.wait ?? ((ms, signal) => sleep(ms, undefined, { signal }));
  return {
    name: 'result cleaner',
    async run(signal) {
      const { initialDelayMs, frequencyMs } = settings();
      let delay = initialDelayMs ?? random() * frequencyMs;
      while (!signal.aborted) {
        try {
          await wait(delay, signal);
          tell(log, await cleanResults(options, signal));
        } catch (error) {
          if (signal.aborted) return;
          log.error({ err: error }, 'expired results could not be cleaned up; the next run tries again');
        }
        delay = settings().frequencyMs;
      }
    },
  };
}

function tell(log: Logger, outcomes: readonly CleaningOutcome[]): void {
  for (const { gateway, deleted, error } of outcomes) {
    if (error !== undefined) log.warn({ gateway, deleted, error }, 'a gateway could not be cleaned up');
    else if (deleted > 0) log.info({ gateway, deleted }, 'expired results were deleted');
  }
}

/** The metrics on a registry of prom-client. Call it once for each registry. */
export function resultCleanerMetrics(registry: Registry): ResultCleanerMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: 'olap_warden_pagination_cleaner_gateways_total',
    help: 'Gateways that the cleaner of stored results called, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const deletions = new Counter({
    name: 'olap_warden_pagination_cleaner_deletions_total',
    help: 'Expired results that the cleaner deleted.',
    registers,
  });
  return { gateway: (outcome) => calls.inc({ outcome }), deleted: (results) => deletions.inc(results) };
}
