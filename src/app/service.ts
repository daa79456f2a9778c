import type { CommandContext } from './parts/context.ts';
import { boot, type Boot } from './parts/boot.ts';

export interface RunningService {
  /** Port of the REST API; undefined for a process without one. */
  readonly port: number | undefined;
  readonly metricsPort: number;
  readonly host: string;
  /** Fails `/readyz`, waits for requests in progress, then stops all parts. */
  stop(): Promise<void>;
}

export interface ServiceDefinition {
  readonly name: string;
  readonly defaultHost: string;
  /** Starts the parts, each with a closer in `boot.closers`. @returns the port of the REST API, if there is one */
  readonly compose: (boot: Boot, context: CommandContext) => Promise<number | undefined>;
}

/** Starts a process that serves until stop(). After a failure, parts already started are stopped. */
export async function startService(definition: ServiceDefinition, context: CommandContext): Promise<RunningService> {
  const booted = await boot(context, definition.name, definition.defaultHost);
  const { readiness, closers, log, metricsPort, host } = booted;
  let port: number | undefined;
  try {
    port = await definition.compose(booted, context);
  } catch (error) {
    await closers.closeAll();
    throw error;
  }
  readiness.delete('start');
  log.info({ command: definition.name, host, port, metricsPort }, 'started');
  let stopping: Promise<void> | undefined;
  return {
    port,
    metricsPort,
    host,
    stop() {
      readiness.set('end', () => 'the process is stopping');
      return (stopping ??= closers.closeAll());
    },
  };
}
