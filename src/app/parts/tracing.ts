import { hostname } from 'node:os';
import { diag, DiagLogLevel } from '@opentelemetry/api';
import type * as Sdk from '@opentelemetry/sdk-trace';
import { systemClock } from '../../platform/clock.ts';
import { redactedStart } from '../../platform/credentials-in-text.ts';
import { Deadline } from '../../platform/deadline.ts';
import { errorMessage } from '../../platform/plain-error.ts';
import { LOG_LIMITS, RateLimiter } from '../../platform/rate-limiter.ts';
import type { Tracing } from '../../platform/tracing.ts';
import { VERSION } from './version.ts';
import type { Boot } from './boot.ts';

type TracingBoot = Pick<Boot, 'env' | 'log' | 'closers'>;
type Env = Boot['env'];

const NAME = 'olap-warden';
/** How long the end of the process waits for the last spans. */
const FLUSH_MS = 3_000;
/** Of one batch, with its retries. The process cannot end before. */
const MAX_EXPORT_MS = 5_000;
const MAX_MESSAGE_LENGTH = 512;
const MAX_QUEUE = 16_384;
const DEFAULT_QUEUE = 2_048;
const DEFAULT_BATCH = 512;
const DEFAULT_DELAY_MS = 5_000;

/**
 * Creates the spans of requests, and exports them as OTLP over HTTP if one of the standard environment variables names an endpoint. The SDK is loaded only
 * then. `boot.closers` exports the last spans.
 * @returns undefined where traces are off
 */
export async function openTracing(boot: TracingBoot): Promise<Tracing | undefined> {
  const { env, log, closers } = boot;
  if (!isOn(env)) return undefined;
  logProblems(log);
  try {
    const provider = await createProvider(boot);
    closers.defer('traces', () => flush(provider));
    const { W3CTraceContextPropagator } = await import('@opentelemetry/core');
    return { tracer: provider.getTracer(NAME, VERSION), propagator: new W3CTraceContextPropagator() };
  } catch (error) {
    log.error({ err: error, part: 'traces' }, 'traces are off: the exporter cannot be created');
    return undefined;
  }
}

/** @throws {Error} when the time is over */
async function flush(provider: Sdk.TracerProvider): Promise<void> {
  const deadline = new Deadline(systemClock, FLUSH_MS);
  try {
    await deadline.limit(provider.shutdown());
  } finally {
    deadline.clear();
  }
}

function isOn(env: Env): boolean {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: all = '', OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: own = '' } = env;
  const isDisabled = env['OTEL_SDK_DISABLED']?.toLowerCase() === 'true' || env['OTEL_TRACES_EXPORTER'] === 'none';
  return (all !== '' || own !== '') && !isDisabled;
}

async function createProvider({ env, log }: TracingBoot): Promise<Sdk.TracerProvider> {
  const [sdk, resources, { OTLPTraceExporter }] = await Promise.all([
    import('@opentelemetry/sdk-trace'),
    import('@opentelemetry/resources'),
    import('@opentelemetry/exporter-trace-otlp-http'),
  ]);
  const protocol = env['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL'] ?? env['OTEL_EXPORTER_OTLP_PROTOCOL'];
  if (protocol === 'grpc') {
    log.warn(
      { part: 'traces' },
      'spans are sent as OTLP over HTTP: name the port for HTTP of the collector, usually 4318',
    );
  }
  const own = resources.resourceFromAttributes({
    'service.name': NAME,
    'service.version': VERSION,
    'service.instance.id': hostname(),
  });
  const named = resources.detectResources({ detectors: [resources.envDetector] });
  const queue = number(env, 'OTEL_BSP_MAX_QUEUE_SIZE', DEFAULT_QUEUE, MAX_QUEUE);
  const processor = new sdk.BatchSpanProcessor({
    exporter: new OTLPTraceExporter({
      timeoutMillis: number(env, 'OTEL_EXPORTER_OTLP_TIMEOUT', MAX_EXPORT_MS, MAX_EXPORT_MS),
      httpAgentOptions: { keepAlive: true, proxyEnv: process.env },
    }),
    maxQueueSize: queue,
    maxExportBatchSize: number(env, 'OTEL_BSP_MAX_EXPORT_BATCH_SIZE', DEFAULT_BATCH, queue),
    scheduledDelayMillis: number(env, 'OTEL_BSP_SCHEDULE_DELAY', DEFAULT_DELAY_MS, DEFAULT_DELAY_MS),
    exportTimeoutMillis: MAX_EXPORT_MS,
  });
  const root = samplerOf(sdk, env);
  return new sdk.TracerProvider({
    resource: resources.defaultResource().merge(own).merge(named),
    spanProcessors: [processor],
    ...(root !== undefined && { sampler: root }),
  });
}

/** The sampler of the standard environment variables; undefined for the default, which is every trace that the caller does not exclude. */
function samplerOf(sdk: typeof Sdk, env: Env): Sdk.Sampler | undefined {
  const name = env['OTEL_TRACES_SAMPLER'] ?? '';
  const ratio = Number(env['OTEL_TRACES_SAMPLER_ARG'] ?? 1);
  const roots: Readonly<Record<string, () => Sdk.Sampler>> = {
    always_on: () => new sdk.AlwaysOnSampler(),
    always_off: () => new sdk.AlwaysOffSampler(),
    traceidratio: () => new sdk.TraceIdRatioBasedSampler(ratio >= 0 && ratio <= 1 ? ratio : 1),
  };
  const root = roots[name.replace(/^parentbased_/, '')]?.();
  return root !== undefined && name.startsWith('parentbased_') ? new sdk.ParentBasedSampler({ root }) : root;
}

/** @returns the fallback for a value that is no positive number */
function number(env: Env, name: string, fallback: number, max: number): number {
  const value = Number(env[name] ?? '');
  return value > 0 ? Math.min(value, max) : Math.min(fallback, max);
}

/** The SDK reports failed exports and lost spans here, as text. */
function logProblems(log: TracingBoot['log']): void {
  const lines = new RateLimiter(systemClock, LOG_LIMITS);
  const write = (...parts: unknown[]): void => {
    const suppressed = lines.admit('traces');
    if (suppressed === undefined) return;
    const problem = redactedStart(parts.map((part) => messageOf(part)).join(' '), MAX_MESSAGE_LENGTH);
    log.warn({ part: 'traces', problem, suppressed }, 'problem with the export of spans');
  };
  const ignore = (): void => undefined;
  const logger = { error: write, warn: write, info: ignore, debug: ignore, verbose: ignore };
  diag.setLogger(logger, { logLevel: DiagLogLevel.WARN, suppressOverrideMessage: true });
}

/** An error is JSON with its message. */
function messageOf(part: unknown): string {
  if (typeof part !== 'string') return errorMessage(part);
  try {
    const { message } = JSON.parse(part) as { message?: unknown };
    return typeof message === 'string' ? message : part;
  } catch {
    return part;
  }
}
