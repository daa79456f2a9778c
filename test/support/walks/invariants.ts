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
    return this.#gained(state, now, limit) ?? this.#lost(state, now, limit) ?? this.#noAdministrator(state, now);
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

  /** A caller that can grant only what it holds must not take the role from an administrator, nor deny anything to it. */
  #lost(state: State, now: number, limit: Uint8Array): string | undefined {
    const { names } = this.#triples;
    if (names.some((name, at) => limit[at] === 1 && isRight(name))) return undefined;
    for (const person of [KEEPER, CHIEF]) {
      if (!rolesOf(person, this.#start, now).includes('system-admin')) continue;
      if (!rolesOf(person, state, now).includes('system-admin')) return `${person.name} lost the role system-admin`;
      const own = this.#own(person, now);
      const can = allowedTo(person, state, this.#triples, now);
      // No gateway knows who is in a group: only what keeps an administrator from repairing access counts there.
      const counts = (name: string): boolean => person === KEEPER || isRbac(name);
      const lost = names.filter((name, at) => own[at] === 1 && can[at] !== 1 && counts(name));
      if (lost.length > 0) return `${person.name} lost ${lost.slice(0, 3).join(', ')}`;
    }
    return undefined;
  }

  /** With whatever rights: somebody is left who can make an administrator. */
  #noAdministrator(state: State, now: number): string | undefined {
    const names = this.#triples.names;
    const needed = ['AssignRole', 'CreateAssignment'].map((action) => names.indexOf(`${action} on role#system-admin`));
    const isEffective = (in_: State, person: Person): boolean => {
      const can = allowedTo(person, in_, this.#triples, now);
      return rolesOf(person, in_, now).includes('system-admin') && needed.every((at) => can[at] === 1);
    };
    const subjects = state.assignments
      .filter(({ spec }) => spec.role === 'system-admin')
      .flatMap(({ spec }) => spec.subjects);
    // What was assigned for a time may end.
    if (subjects.some(({ expiresAt }) => expiresAt !== undefined)) return undefined;
    const holders = subjects.map((subject): Person => {
      const [, domain] = subject.type === 'user-email' ? subject.name.split('@') : [];
      const inDomain = domain === undefined ? [] : [{ type: 'domain' as const, name: domain }];
      return { name: subject.name, subjects: [subject, ...inDomain] };
    });
    if (holders.some((holder) => isEffective(state, holder)) || !isEffective(this.#start, KEEPER)) return undefined;
    return 'nobody is left who can make an administrator';
  }
}

/** Whether a triple is about an action of the RBAC manager on what it manages. */
function isRbac(name: string): boolean {
  return /^\w*(Policy|Role|Assignment) on (role|policy|service-token)#/.test(name);
}
