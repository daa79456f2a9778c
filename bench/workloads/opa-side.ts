import { reasonOf, type Bench } from '../frame/bench.ts';
import { atLeastTimes, type Comparison } from '../frame/rows.ts';
import { measureOpa, opaInput, type OpaFigures } from '../peers/opa.ts';
import { DEPLOYMENT } from './decision-engine.ts';
import type { Question, Workload } from './policies.ts';

/** What OPA needs for the questions; a text where it cannot be measured. */
export function askOpa(workload: Workload, questions: readonly Question[]): Promise<OpaFigures | string> {
  const sets = workload.roles.map((names) => names.map((name) => workload.policies.get(name)!));
  const asked = questions.map(({ principal, action, resource }) => ({
    set: principal,
    input: opaInput(action, resource, DEPLOYMENT),
  }));
  return measureOpa(sets, asked, { warmup: 1, rounds: 3 }).catch(reasonOf);
}

/** The row of decisions against OPA. @param expected our decisions on the same questions */
export function addOpaRow(
  bench: Bench,
  row: Pick<Comparison, 'work' | 'unit' | 'better' | 'ours'>,
  opa: OpaFigures | string,
  expected: readonly boolean[],
): void {
  const goal = atLeastTimes(10);
  if (typeof opa === 'string') return bench.missing({ ...row, peer: 'OPA', goal, reason: opa });
  bench.version('OPA', opa.version);
  const theirs = (expected.length / opa.cpuMs) * 1000;
  bench.add({ ...row, peer: 'OPA', theirs, answers: [expected, opa.answers], goal });
}
