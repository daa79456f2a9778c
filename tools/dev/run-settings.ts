import { resolve } from 'node:path';

/** Something that the user of `make run` can mend, printed without a stack. */
export class UsageError extends Error {}

/** The variables of `make run`. */
export interface Settings {
  readonly port: number;
  readonly metricsPort: number;
  /** An absolute path. */
  readonly dataDir: string;
  /** URL of a Pinot controller without a slash at its end; undefined starts the sample cluster. */
  readonly controller: string | undefined;
}

function portOf(env: NodeJS.ProcessEnv, name: string, fallback: number): number {
  const text = env[name];
  if (text === undefined || text === '') return fallback;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65_535) {
    throw new UsageError(`invalid ${name} \`${text}\`: it must be a port from 1 to 65535`);
  }
  return port;
}

function controllerOf(text: string | undefined): string | undefined {
  if (text === undefined || text === '') return undefined;
  const url = URL.parse(text);
  if (url === null || !/^https?:$/.test(url.protocol)) {
    throw new UsageError(`invalid OLAP_CONTROLLER \`${text}\`: it must be a URL such as http://localhost:9000`);
  }
  return text.replace(/\/+$/, '');
}

/** @throws {UsageError} that names the invalid variable */
export function readSettings(env: NodeJS.ProcessEnv, root: string): Settings {
  const settings = {
    port: portOf(env, 'PORT', 8080),
    metricsPort: portOf(env, 'METRICS_PORT', 9090),
    dataDir: resolve(root, env['DATA_DIR'] || 'data'),
    controller: controllerOf(env['OLAP_CONTROLLER']),
  };
  if (settings.port === settings.metricsPort) {
    throw new UsageError(`PORT and METRICS_PORT are both ${settings.port}: choose two ports`);
  }
  return settings;
}
