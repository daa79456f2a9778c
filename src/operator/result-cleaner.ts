import type { Logger } from 'pino';
import { Counter, type Registry } from 'prom-client';
import { errorMessage } from '../platform/plain-error.ts';
import type { GatewayClient } from '../results/peers/gateway-client.ts';
import type { GatewayAddress } from '../results/peers/peers.ts';
import { RENEWAL_GRACE_MS } from '../results/retention/retention.ts';
import { sleep, type Clock } from '../platform/clock.ts';
import { Deadline } from '../platform/deadline.ts';
import type { LeaderTask } from './operator.ts';

/** The properties `controller.cluster.pagination.cleaner.*`, in milliseconds. */
export interface ResultCleanerSettings {
  readonly frequencyMs: number;
  /** Undefined: random within the period, so that deployments do not clean at the same time. */
  readonly initialDelayMs: number | undefined;
}

export interface ResultCleanerMetrics {
  /** A gateway was called. */
  gateway(outcome: 'success' | 'error'): void;
  deleted(results: number): void;
}

export interface ResultCleanerOptions {
  /** All gateways of the deployment. */
  readonly gateways: () => Promise<readonly GatewayAddress[]>;
  readonly client: GatewayClient;
  /** Called after each run. */
  readonly settings: () => ResultCleanerSettings;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: ResultCleanerMetrics;
  /** Time-out for one gateway in a run; 60 s by default. */
  readonly gatewayTimeoutMs?: number;
}

/** The result of cleaning one gateway. */
export interface CleaningOutcome {
  readonly gateway: string;
  readonly deleted: number;
  readonly error: string | undefined;
}

const GATEWAY_TIMEOUT_MS = 60_000;

/**
 * One run: lists the results of every gateway and deletes the expired ones. Gateways are cleaned in parallel, so one that is slow or down does
 * not delay the others. Rejects only if `signal` aborts.
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
  const { client, metrics, clock } = options;
  const name = `${gateway.host}:${gateway.port}`;
  const deadline = new Deadline(clock, options.gatewayTimeoutMs ?? GATEWAY_TIMEOUT_MS, signal);
  let deleted = 0;
  try {
    for (const { requestId, expirationTimeMs } of await client.list(gateway, deadline.signal)) {
      // A gateway may be writing a renewal that it began before the expiration.
      if (expirationTimeMs + RENEWAL_GRACE_MS > clock.now()) continue;
      if (await client.delete(gateway, requestId, deadline.signal)) deleted++;
    }
    metrics.gateway('success');
    return { gateway: name, deleted, error: undefined };
  } catch (error) {
    metrics.gateway('error');
    return { gateway: name, deleted, error: errorMessage(error) };
  } finally {
    deadline.clear();
    metrics.deleted(deleted);
  }
}

/** The periodic cleaner. A task of the leader, so that it does not run twice. */
export function resultCleanerTask(options: ResultCleanerOptions): LeaderTask {
  const { settings, clock, log } = options;
  return {
    name: 'result cleaner',
    async run(signal) {
      const { initialDelayMs, frequencyMs } = settings();
      let delay = initialDelayMs ?? clock.random() * frequencyMs;
      while (!signal.aborted) {
        try {
          await sleep(clock, delay, signal);
          logOutcomes(log, await cleanResults(options, signal));
        } catch (error) {
          if (signal.aborted) return;
          log.error({ err: error }, 'failed to clean up expired results; retrying at the next run');
        }
        delay = settings().frequencyMs;
      }
    },
  };
}

function logOutcomes(log: Logger, outcomes: readonly CleaningOutcome[]): void {
  for (const { gateway, deleted, error } of outcomes) {
    if (error !== undefined) log.warn({ gateway, deleted, error }, 'failed to clean up expired results of a gateway');
    else if (deleted > 0) log.info({ gateway, deleted }, 'deleted expired results');
  }
}

/** Registers the metrics. Call it once for each registry. */
export function resultCleanerMetrics(registry: Registry): ResultCleanerMetrics {
  const registers = [registry];
  const calls = new Counter({
    name: 'olap_warden_pagination_cleaner_gateways_total',
    help: 'Calls of the result cleaner to gateways, by outcome.',
    labelNames: ['outcome'],
    registers,
  });
  const deletions = new Counter({
    name: 'olap_warden_pagination_cleaner_deletions_total',
    help: 'Expired results deleted by the result cleaner.',
    registers,
  });
  return { gateway: (outcome) => calls.inc({ outcome }), deleted: (results) => deletions.inc(results) };
}
