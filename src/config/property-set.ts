import type { PropertyGroup, SettingSchema } from '../platform/setting-schema.ts';
import { keysOf, resolve, type Resolution, type WrittenKey } from './keys.ts';

/** All `olap.*` and `controller.*` keys of the program. */
export class PropertySet {
  readonly keys: ReadonlyMap<string, SettingSchema>;
  readonly #groups: readonly PropertyGroup[];

  /** @throws {TypeError} when two groups declare the same key */
  constructor(groups: readonly PropertyGroup[]) {
    const entries = groups.flatMap(({ properties }) => [...keysOf(properties)]);
    this.#groups = groups;
    this.keys = new Map(entries);
    const twice = entries.find(([key, schema]) => this.keys.get(key) !== schema);
    if (twice !== undefined) throw new TypeError(`two groups declare the property \`${twice[0]}\``);
  }

  /** Parses and validates properties, and adds defaults. The values are complete when there are no problems. */
  resolve(written: readonly WrittenKey[]): Resolution {
    const { values, problems } = resolve(this.keys, written);
    if (problems.length > 0) return { values, problems };
    return { values, problems: this.#groups.flatMap((group) => group.problems?.(values) ?? []) };
  }
}
