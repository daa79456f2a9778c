import { SettingsError } from '../../config/keys.ts';
import type { Properties } from '../../config/properties.ts';
import type { Settings } from '../../config/schema.ts';
import { loadSettings, type LoadedSettings } from '../../config/settings.ts';
import type { ReportedCluster } from '../../operator/health/health-reports.ts';
import type { Engine, KnownTables } from '../../pinot/types.ts';
import { errorMessage } from '../../platform/plain-error.ts';
import { reportOf } from '../../resources/cluster-health-report.ts';
import { nearest } from '../../resources/nearest.ts';
import type { Boot } from './boot.ts';
import { openEngine } from './engine.ts';
import { PROPERTIES } from './properties.ts';

/** A cluster of the environment other than that of the process. */
export interface FurtherCluster extends ReportedCluster {
  readonly engine: Engine & KnownTables;
  /** The current properties of its configuration file. */
  readonly properties: () => Properties;
  readonly settings: Settings;
}

/**
 * Reads the files of the setting `cluster-files`, and opens a client for each cluster. `boot.closers` closes them.
 * @throws {SettingsError} with the problems of all files
 */
export async function openFurtherClusters(boot: Boot): Promise<readonly FurtherCluster[]> {
  const loaded: LoadedSettings[] = [];
  const problems: string[] = [];
  const names = new Set([boot.settings.cluster]);
  for (const file of boot.settings['cluster-files']) {
    try {
      const read = await loadSettings({ args: ['--config', file], env: {}, properties: PROPERTIES, suggest: nearest });
      problems.push(...problemsOf(file, read.settings, boot.settings, names));
      names.add(read.settings.cluster);
      loaded.push(read);
    } catch (error) {
      problems.push(...(error instanceof SettingsError ? error.problems : [`${file}: ${errorMessage(error)}`]));
    }
  }
  if (problems.length > 0) throw new SettingsError(problems);
  return Promise.all(
    loaded.map(async (read): Promise<FurtherCluster> => {
      const { settings } = read;
      const live = boot.followProperties(read);
      const engine = await openEngine(boot, settings);
      const { cluster: name } = settings;
      return { name, report: reportOf(name, true), settings, engine, properties: () => live.get() };
    }),
  );
}

function problemsOf(file: string, read: Settings, own: Settings, names: ReadonlySet<string>): string[] {
  const problems: string[] = [];
  const { cluster, environment } = read;
  if (!read['further-cluster'])
    problems.push(`${file}: \`further-cluster\` is not set: the gateways would show the report of \`${own.cluster}\``);
  if (names.has(cluster)) problems.push(`${file}: \`cluster\` is \`${cluster}\`, as that of another file`);
  if (environment !== own.environment)
    problems.push(
      `${file}: \`environment\` is \`${environment}\`, but that of the operator is \`${own.environment}\`: an operator has one environment`,
    );
  return problems;
}
