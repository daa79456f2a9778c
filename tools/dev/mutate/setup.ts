// Runs in the test process before each test file: defines the function that the instrumented sources call.
import { afterAll, inject } from 'vitest';

/** The mutant of a run. */
export interface ActiveMutant {
  /** -1: none. */
  readonly id: number;
  /** Evaluations in one test file before it throws: a mutant may loop for ever. */
  readonly limit: number;
}

declare module 'vitest' {
  interface ProvidedContext {
    mutant: ActiveMutant;
  }
  interface TaskMeta {
    /** The evaluations of each mutant that the test file reached. */
    reached?: readonly (readonly [id: number, count: number])[];
  }
}

const active = inject('mutant');
const reached = new Map<number, number>();

function isActive(id: number): boolean {
  const count = (reached.get(id) ?? 0) + 1;
  reached.set(id, count);
  if (id !== active.id) return false;
  if (count > active.limit) throw new Error('the mutant is evaluated without end');
  return true;
}
Object.assign(globalThis, { __mutant: isActive });

// Vitest requires the pattern.
// oxlint-disable-next-line no-empty-pattern
afterAll(({}, file) => {
  file.meta.reached = [...reached];
});
