import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { outliveUnhandledErrors } from '../../platform/process-errors.ts';
import { LiveProperties } from '../../config/live-properties.ts';
import type { Settings } from '../../config/schema.ts';
import { loadSettings, type LoadedSettings } from '../../config/settings.ts';
import { systemClock } from '../../platform/clock.ts';
import { Closers } from '../../platform/lifecycle.ts';
import { Admission } from '../../api/server/admission/admission.ts';
import { countReloads, createRegistry, observeRejectedConfig } from '../../api/server/metrics.ts';
import { closeServer, listenProbes } from '../../api/server/server.ts';
import { createProbesServer, type ReadinessCheck } from '../../platform/probes.ts';
import { countDroppedLines, LogOutput, standardOutput } from '../../platform/log-output.ts';
import { createLogger, type LogLevel } from '../../platform/logging.ts';
import { observeUpstreams } from '../../platform/upstream-metrics.ts';
import type { UpstreamObserver } from '../../platform/upstreams.ts';
import { nearest } from '../../resources/nearest.ts';
import type { CommandContext } from './context.ts';
import { PROPERTIES } from './properties.ts';
import { VERSION } from './version.ts';

/** Of the kubelet and of Prometheus there are few; a further one replaces an idle one. */
const MAX_PROBE_CONNECTIONS = 100;
const FORMER_NAMES_USED = 'the configuration has former settings';

/** The parts that every process of olap-warden has. */
export interface Boot {
  readonly settings: Settings;
  readonly live: LiveProperties;
  /** Follows the properties of a further configuration file until the end of the process. */
  readonly followProperties: (loaded: LoadedProperties) => LiveProperties;
  readonly log: Logger;
  readonly registry: Registry;
  /** Counts the requests to other servers. */
  readonly upstreams: UpstreamObserver;
  /** Of the process. */
  readonly env: CommandContext['env'];
  /** Checks of `/readyz`, by name; all must pass. */
  readonly readiness: Map<string, ReadinessCheck>;
  readonly closers: Closers;
  readonly metricsPort: number;
  /** Address of both listeners. */
  readonly host: string;
  /** Listener of the REST API. Its port is the configured one (0 for any) until the listener is open. */
  readonly listener: { port: number };
}

/**
 * Reads the settings and opens the listener for probes and metrics; `/readyz` fails until startService() has finished.
 * @throws {SettingsError} {ListenError}
 */
export async function boot(context: CommandContext, command: string, defaultHost: string): Promise<Boot> {
  const { settings, properties, file, fixedProperties, warnings } = await loadSettings({
    ...context,
    properties: PROPERTIES,
    suggest: nearest,
  });
  const registry = createRegistry(VERSION, command, settings['node-metrics']);
  const upstreams = observeUpstreams(registry, systemClock);
  const { log, close } = openLog(settings['log-level'], registry);
  if (warnings.length > 0) log.warn({ warnings }, FORMER_NAMES_USED);
  const closers = new Closers(log);
  closers.defer('log', close);
  const release = outliveUnhandledErrors({ target: process, log, registry, clock: systemClock });
  closers.defer('unhandled errors', release);
  const readiness = new Map<string, ReadinessCheck>([['start', () => 'the process is starting']]);
  const host = settings.host ?? defaultHost;
  const probes = createProbesServer({ registry, checks: readiness, admission: admissionOfProbes() });
  const metricsPort = await listenProbes(probes, { host, port: settings['metrics-port'], log });
  closers.defer('probes', () => closeServer(probes));
  const followProperties = propertiesFollower({ registry, log, closers });
  const live = followProperties({ properties, file, fixedProperties });
  const listener = { port: settings.port };
  const { env } = context;
  return {
    settings,
    live,
    followProperties,
    log,
    registry,
    upstreams,
    env,
    readiness,
    closers,
    metricsPort,
    host,
    listener,
  };
}

/** The log on standard output. */
function openLog(level: LogLevel, registry: Registry): { readonly log: Logger; readonly close: () => Promise<void> } {
  const output = new LogOutput({
    ...standardOutput(),
    clock: systemClock,
    onDropped: countDroppedLines(registry),
    onRecovered: (dropped) => log.warn({ dropped }, 'log lines were dropped because they could not be written'),
  });
  const log = createLogger(level, output);
  // Where the process ends without closing its parts.
  const flush = (): void => output.flushSync();
  process.on('exit', flush);
  return {
    log,
    async close() {
      await output.close();
      process.off('exit', flush);
    },
  };
}

/** So that nobody can occupy the listener of the probes: it answers them whatever happens to the other one. */
function admissionOfProbes(): Admission {
  const connections = { total: MAX_PROBE_CONNECTIONS, perAddress: MAX_PROBE_CONNECTIONS };
  return new Admission({ clock: systemClock, connections });
}

type LoadedProperties = Pick<LoadedSettings, 'properties' | 'file' | 'fixedProperties'>;

/** The metrics of all configuration files of the process are the same. */
function propertiesFollower({
  registry,
  log,
  closers,
}: Pick<Boot, 'registry' | 'log' | 'closers'>): Boot['followProperties'] {
  const count = countReloads(registry);
  const followed: LiveProperties[] = [];
  observeRejectedConfig(registry, () => followed.some(({ isRejected }) => isRejected));
  return (loaded) => {
    const { file } = loaded;
    const live = new LiveProperties({
      known: PROPERTIES,
      initial: loaded.properties,
      file,
      fixed: loaded.fixedProperties,
      suggest: nearest,
      clock: systemClock,
      onChange: (keys) => {
        count('applied');
        log.info({ keys, file }, 'properties changed');
      },
      onFormerNames: (names) => log.warn({ warnings: names, file }, FORMER_NAMES_USED),
      onRestartNeeded: (keys) => log.warn({ keys, file }, 'changed properties take effect after a restart'),
      onRejected: (error) => {
        count('refused');
        log.error({ problems: error.problems, file }, 'configuration file rejected; keeping the current properties');
      },
    });
    followed.push(live);
    live.start();
    closers.defer('configuration', () => live.stop());
    return live;
  };
}
