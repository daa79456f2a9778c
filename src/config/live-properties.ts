import { readConfigFile } from './file.ts';
import { SettingsError, type Suggest, type Written } from './keys.ts';
import { PROPERTY_KEYS, resolveProperties, type Properties } from './properties.ts';
import { unknownInFile } from './settings.ts';

export interface LivePropertiesOptions {
  readonly initial: Properties;
  /** Undefined where everything came from flags: then nothing ever changes. */
  readonly file: string | undefined;
  readonly fixed: readonly Written[];
  readonly suggest: Suggest;
  /** Told of each change that is in force from now on. */
  readonly onChange?: (keys: readonly string[]) => void;
  /** Told, once for each content, of keys that changed but need a restart. */
  readonly onRestartNeeded?: (keys: readonly string[]) => void;
  /** Told, once for each content, why a file was refused; the properties stay what they were. */
  readonly onRefused?: (error: SettingsError) => void;
  /** Milliseconds between two looks at the file. */
  readonly intervalMs?: number;
}

const INTERVAL_MS = 2000;

/**
 * The properties as the file says now.
 *
 * The file is read again every two seconds rather than watched: a ConfigMap's mount swaps symbolic links, which watches of a file do not see, and
 * the file is small. A file that is wrong as a whole or in one value changes nothing.
 */
export class LiveProperties {
  readonly #options: LivePropertiesOptions;
  #current: Properties;
  #seen: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #reading: Promise<void> | undefined;

  constructor(options: LivePropertiesOptions) {
    this.#options = options;
    this.#current = options.initial;
  }

  /** The properties that are in force; ask anew at every use. */
  get(): Properties {
    return this.#current;
  }

  start(): void {
    const { file, intervalMs = INTERVAL_MS } = this.#options;
    if (file === undefined || this.#timer) return;
    this.#timer = setInterval(() => {
      this.#reading ??= this.#refresh(file).finally(() => {
        this.#reading = undefined;
      });
    }, intervalMs);
    this.#timer.unref();
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#reading;
  }

  async #refresh(file: string): Promise<void> {
    let written: Written[];
    try {
      written = await readConfigFile(file);
    } catch (error) {
      this.#refuse(error instanceof SettingsError ? error : new SettingsError([String(error)]));
      return;
    }
    const content = JSON.stringify(written);
    if (content === this.#seen) return;
    const { values, problems } = resolveProperties([...written, ...this.#options.fixed]);
    const all = [...unknownInFile(written, this.#options.suggest), ...problems];
    if (all.length > 0) {
      this.#refuse(new SettingsError(all));
      return;
    }
    this.#seen = content;
    this.#take(values as Properties);
  }

  #refuse(error: SettingsError): void {
    if (this.#seen === error.message) return;
    this.#seen = error.message;
    this.#options.onRefused?.(error);
  }

  #take(next: Properties): void {
    const before = this.#current as Readonly<Record<string, unknown>>;
    const wanted = next as Readonly<Record<string, unknown>>;
    const changed = [...PROPERTY_KEYS.keys()].filter((key) => before[key] !== wanted[key]);
    const live = changed.filter((key) => PROPERTY_KEYS.get(key)?.live === true);
    const others = changed.filter((key) => !live.includes(key));
    const taken: Record<string, unknown> = { ...before };
    for (const key of live) taken[key] = wanted[key];
    this.#current = taken as Properties;
    if (live.length > 0) this.#options.onChange?.(live);
    if (others.length > 0) this.#options.onRestartNeeded?.(others);
  }
}
