/** Who names whom, readable from the other end: which roles hold a policy, which assignments give a role. */
export class Backreferences {
  readonly #references = new Map<string, readonly string[]>();
  readonly #owners = new Map<string, Set<string>>();

  /** `owner` now names these, and no others. */
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
    return this.#owners.get(reference) ?? NOBODY;
  }
}

const NOBODY: ReadonlySet<string> = new Set();
