import { MAX_REFERRERS } from '../../resources/meta.ts';

/** An index from names to the objects that refer to them, such as from a policy to the roles that have it. */
export class Backreferences {
  readonly #references = new Map<string, readonly string[]>();
  readonly #owners = new Map<string, Set<string>>();

  /** Replaces the references of `owner`. */
  set(owner: string, references: readonly string[]): void {
    this.delete(owner);
    if (references.length === 0) return;
    this.#references.set(owner, references);
    for (const reference of references) {
      const owners = this.#owners.get(reference);
      if (owners) owners.add(owner);
      else this.#owners.set(reference, new Set([owner]));
    }
  }

  delete(owner: string): void {
    for (const reference of this.#references.get(owner) ?? []) {
      const owners = this.#owners.get(reference);
      owners?.delete(owner);
      if (owners?.size === 0) this.#owners.delete(reference);
    }
    this.#references.delete(owner);
  }

  ownersOf(reference: string): ReadonlySet<string> {
    return this.#owners.get(reference) ?? NO_OWNERS;
  }

  /**
   * Some of the owners, at a constant cost. Those that are listed stay while they are owners, so that the list changes seldom.
   * @param listed what was returned the last time
   */
  someOwnersOf(reference: string, listed: readonly string[] = []): string[] {
    const owners = this.ownersOf(reference);
    const some = new Set(listed.filter((owner) => owners.has(owner)));
    for (const owner of owners) {
      if (some.size >= MAX_REFERRERS) break;
      some.add(owner);
    }
    return [...some];
  }
}

const NO_OWNERS: ReadonlySet<string> = new Set();
