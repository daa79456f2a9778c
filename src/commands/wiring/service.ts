import type { CommandContext } from '../context.ts';
import { boot, type Boot } from './boot.ts';

export interface RunningService {
  /** Port of the REST interfaces; undefined for a process that has none. */
  readonly port: number | undefined;
  readonly metricsPort: number;
  readonly host: string;
  /** Not ready from now on; then requests under way end, then everything else. */
  stop(): Promise<void>;
}

export interface ServiceDefinition {
  readonly name: string;
  readonly defaultHost: string;
  /** Opens the parts, each deferred to `boot.closers`. @returns the port of the REST interfaces, if there are any */
  readonly compose: (boot: Boot, context: CommandContext) => Promise<number | undefined>;
}

/** Starts a process that serves until it is told to end. What was opened before a failure is closed. */
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
      readiness.set('end', () => 'the process is ending');
      return (stopping ??= closers.closeAll());
    },
  };
}
