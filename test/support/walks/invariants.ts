import { PEOPLE, tokenPerson, type Person } from './people.ts';
import { allowedTo, handedOnBy, type Triples } from './oracle.ts';
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

  /** The rights that a person gained; undefined if there is no violation. @param now milliseconds since the epoch */
  problem(state: State, now: number): string | undefined {
    const limit = this.#once(`${now}`, () => handedOnBy(this.#actors, this.#start, this.#triples, now));
    if (limit === 'everything') return undefined;
    return this.#gained(state, now, limit);
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
}
