import { CHIEF, KEEPER, PEOPLE, tokenPerson, type Person } from './people.ts';
import { allowedTo, handedOnBy, isRight, rolesOf, type Triples } from './oracle.ts';
import type { State } from './start.ts';

/** What must hold after each change of a walk. */
export class Invariants {
  readonly #start: State;
  readonly #actors: readonly Person[];
  readonly #triples: Triples;
  readonly #memory = new Map<string, Uint8Array | 'everything'>();

  constructor(start: State, actors: readonly Person[], triples: Triples) {
    this.#start = start;
    this.#actors = actors;
    this.#triples = triples;
  }

  /** The rights that a person gained or lost; undefined if there is no violation. @param now milliseconds since the epoch */
  problem(state: State, now: number): string | undefined {
    const limit = this.#once(`${now}`, () => handedOnBy(this.#actors, this.#start, this.#triples, now));
    if (limit === 'everything') return undefined;
    return this.#gained(state, now, limit) ?? this.#lost(state, now, limit) ?? this.#noAdministrator(state);
  }

  /** The rights of a person at that time without any change. */
  #own(person: Person, now: number): Uint8Array {
    return this.#once(`${person.name} ${now}`, () => allowedTo(person, this.#start, this.#triples, now)) as Uint8Array;
  }

  #once(key: string, compute: () => Uint8Array | 'everything'): Uint8Array | 'everything' {
    const known = this.#memory.get(key) ?? compute();
    this.#memory.set(key, known);
    return known;
  }

  #gained(state: State, now: number, limit: Uint8Array): string | undefined {
    const { names } = this.#triples;
    for (const person of [...PEOPLE, ...state.tokens.map(({ metadata }) => tokenPerson(metadata.name))]) {
      const own = this.#own(person, now);
      const can = allowedTo(person, state, this.#triples, now);
      const gained = names.filter((_, at) => can[at] === 1 && own[at] !== 1 && limit[at] !== 1);
      if (gained.length > 0) return `${person.name} gained ${gained.slice(0, 3).join(', ')}`;
    }
    return undefined;
  }

  /** A caller that can grant only what it holds must not take the role from an administrator. */
  #lost(state: State, now: number, limit: Uint8Array): string | undefined {
    if (this.#triples.names.some((name, at) => limit[at] === 1 && isRight(name))) return undefined;
    const isHolder = (person: Person, in_: State): boolean => rolesOf(person, in_, now).includes('system-admin');
    const lost = [KEEPER, CHIEF].find((person) => isHolder(person, this.#start) && !isHolder(person, state));
    return lost && `${lost.name} lost the role system-admin`;
  }

  /** With whatever rights: somebody is left who holds the role. */
  #noAdministrator(state: State): string | undefined {
    const left = state.assignments.some(({ spec }) => spec.role === 'system-admin' && spec.subjects.length > 0);
    return left ? undefined : 'nobody is left with the role system-admin';
  }
}
