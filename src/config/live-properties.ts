import { errorMessage } from '../platform/plain-error.ts';
import type { Clock } from '../platform/clock.ts';
import { runPeriodically } from '../platform/periodic.ts';
import { readConfigFile } from './file.ts';
import { FORMER_NAMES, withPresentNames, type FormerNames } from './former-names.ts';
import { SettingsError, type Suggest, type WrittenKey } from './keys.ts';
import type { Properties } from './properties.ts';
import type { PropertySet } from './property-set.ts';
import { unknownInFile } from './settings.ts';

export interface LivePropertiesOptions {
  readonly known: PropertySet;
  readonly initial: Properties;
  /** Undefined without a configuration file: then the properties never change. */
  readonly file: string | undefined;
  /** Properties from flags; they override the file. */
  readonly fixed: readonly WrittenKey[];
  readonly suggest: Suggest;
  /** Default: `FORMER_NAMES`. */
  readonly formerNames?: FormerNames;
  readonly clock: Pick<Clock, 'schedule'>;
  /** Called with the changed keys that are now in effect. */
  readonly onChange?: (keys: readonly string[]) => void;
  /** Called, once per content of the file, with changed keys that need a restart. */
  readonly onRestartNeeded?: (keys: readonly string[]) => void;
  /** Called, once per content of the file, with a sentence for each former key in it. */
  readonly onFormerNames?: (warnings: readonly string[]) => void;
  /** Called, once per content of the file, when the file is rejected; the current properties stay in effect. */
  readonly onRejected?: (error: SettingsError) => void;
  /** Interval between two reads of the file, milliseconds. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 2000;

/**
 * The current properties, updated from the configuration file.
 *
 * The file is read every two seconds instead of watched: a mounted ConfigMap replaces symbolic links, which a watch of the file does not
 * report. A file with any problem is rejected as a whole.
 */
export class LiveProperties {
  readonly #options: LivePropertiesOptions;
  #current: Properties;
  #seen: string | undefined;
  #isRejected = false;
  #stop: (() => Promise<void>) | undefined;

  constructor(options: LivePropertiesOptions) {
    this.#options = options;
    this.#current = options.initial;
  }

  /** The properties in effect. Call it at every use. */
  get(): Properties {
    return this.#current;
  }

  /** Whether the current content of the file was rejected, so that older properties are in effect. */
  get isRejected(): boolean {
    return this.#isRejected;
  }

  start(): void {
    const { file, clock, intervalMs = INTERVAL_MS } = this.#options;
    if (file === undefined) return;
    const onError = (error: unknown): void => this.#reject(new SettingsError([errorMessage(error)]));
    this.#stop ??= runPeriodically(() => this.#refresh(file), { clock, intervalMs, onError });
  }

  async stop(): Promise<void> {
    await this.#stop?.();
  }

  async #refresh(file: string): Promise<void> {
    let written: WrittenKey[];
    try {
      written = await readConfigFile(file);
    } catch (error) {
      this.#reject(error instanceof SettingsError ? error : new SettingsError([errorMessage(error)]));
      return;
    }
    const content = JSON.stringify(written);
    if (content === this.#seen) return;
    const { known, fixed, suggest } = this.#options;
    const renamed = withPresentNames(written, this.#options.formerNames ?? FORMER_NAMES);
    const { values, problems } = known.resolve([...renamed.written, ...fixed]);
    const all = [...renamed.problems, ...unknownInFile(renamed.written, known, suggest), ...problems];
    if (all.length > 0) {
      this.#reject(new SettingsError(all));
      return;
    }
    this.#seen = content;
    this.#isRejected = false;
    if (renamed.warnings.length > 0) this.#options.onFormerNames?.(renamed.warnings);
    this.#apply(values as Properties);
  }

  #reject(error: SettingsError): void {
    if (this.#seen === error.message) return;
    this.#seen = error.message;
    this.#isRejected = true;
    this.#options.onRejected?.(error);
  }

  #apply(next: Properties): void {
    const before = this.#current as Readonly<Record<string, unknown>>;
    const wanted = next as Readonly<Record<string, unknown>>;
    const { keys } = this.#options.known;
    const changed = [...keys.keys()].filter((key) => before[key] !== wanted[key]);
    const live = changed.filter((key) => keys.get(key)?.live === true);
    const others = changed.filter((key) => !live.includes(key));
    const applied: Record<string, unknown> = { ...before };
    for (const key of live) applied[key] = wanted[key];
    this.#current = applied as Properties;
    if (live.length > 0) this.#options.onChange?.(live);
    if (others.length > 0) this.#options.onRestartNeeded?.(others);
  }
}
