// @module-tag slow
import { describe, expect, it } from 'vitest';
import type { CausedChange, ChangesOf } from '../../../../src/access/plan/plan.ts';
import { planOf } from '../../../../src/access/plan/plan.ts';
import type { Literal } from '../../../../src/access/plan/cells.ts';
import { PolicySet } from '../../../../src/access/plan/policy-set.ts';
import {
  actionsAskedOn,
  KINDS_WITH_ACTIONS,
  type KindWithActions,
} from '../../../../src/access/policy/action-kinds.ts';
import { ANY_CALLER } from '../../../../src/access/policy/conditions/caller-values.ts';
import { asPrincipal } from '../../../../src/access/policy/simulate.ts';
import { questionOf } from '../../../../src/access/policy/question.ts';
import { OUTER_KINDS, type Srn } from '../../../../src/access/policy/srn.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { globMatches } from '../../../../src/platform/glob.ts';
import type { Random } from '../../../fuzz/http/random.ts';
import { seeded } from '../../../support/seed.ts';
import { changed, NAMES, objectsOf, randomSet, SUBJECTS, type RandomSet } from './random-policies.ts';

const DEPLOYMENT = { environment: 'e', cluster: 'c1' };
const CLOCK = { now: () => 0 };

interface Resource {
  readonly kind: KindWithActions;
  readonly ids: readonly string[];
  readonly srn: Srn;
}

const RESOURCES: readonly Resource[] = KINDS_WITH_ACTIONS.flatMap((kind) =>
  (kind === 'cluster' ? ['c1', 'c2', 'ab'] : NAMES).flatMap((name) =>
    (kind === 'table'
      ? [
          ['e', 'c1'],
          ['e', 'c2'],
          ['other', 'c1'],
        ]
      : [['e'], ['other']]
    ).map((outer) => {
      const ids = [...outer, name];
      const kinds = [...OUTER_KINDS[kind], kind];
      return { kind, ids, srn: { levels: ids.map((id, at) => ({ kind: kinds[at]!, id })) } };
    }),
  ),
);
const ASKED = Object.fromEntries(
  KINDS_WITH_ACTIONS.map((kind) => [kind, [...actionsAskedOn(kind), ...(kind === 'cluster' ? ['*'] : [])]]),
) as Record<KindWithActions, string[]>;

/** Each resource with the questions about it, except whether its tables may be queried. */
const QUESTIONS = RESOURCES.map((resource) => ({
  ...resource,
  questions: ASKED[resource.kind]
    .filter((action) => resource.kind !== 'table' || action !== 'Query')
    .map((action) => ({ action, question: questionOf(DEPLOYMENT, action, resource.srn) })),
}));

/** What a subject has by the code that enforces. */
function grantsOf({ directory }: PolicySet, subject: Subject) {
  const principal = asPrincipal(directory, subject);
  const grants = directory.engine.simulatedGrants(directory.existingRolesOf(principal), undefined);
  const readingOf = (table: Srn): string => {
    const reading = directory.engine.readingWith(grants, table, ANY_CALLER);
    return reading.allowed ? (reading.conditions?.key ?? 'all') : 'none';
  };
  return { grants, readingOf };
}

function differences(before: PolicySet, after: PolicySet, subject: Subject): Set<string> {
  const [was, is] = [grantsOf(before, subject), grantsOf(after, subject)];
  const found = new Set<string>();
  for (const { kind, ids, srn, questions } of QUESTIONS) {
    for (const { action, question } of questions) {
      const [a, b] = [was.grants.isAllowed(question), is.grants.isAllowed(question)];
      if (a !== b) found.add(`${b ? 'gain' : 'loss'} ${action} ${kind} ${ids.join(' ')}`);
    }
    if (kind !== 'table') continue;
    const [a, b] = [was.readingOf(srn), is.readingOf(srn)];
    if (a !== b) found.add(`reading ${a} -> ${b} ${ids.join(' ')}`);
  }
  return found;
}

function includes(literals: readonly Literal[], ids: readonly string[]): boolean {
  return literals.every(({ level, glob }) => globMatches(glob, ids[level]!));
}

function has({ extent }: CausedChange, ids: readonly string[]): boolean {
  return includes(extent.within, ids) && !extent.except.some((literals) => includes(literals, ids));
}

function planned({ changes }: Pick<ChangesOf, 'changes'>): Set<string> {
  const found = new Set<string>();
  for (const change of changes) {
    const { kind, actions, directions, extent } = change;
    for (const { ids } of RESOURCES.filter((resource) => resource.kind === kind && has(change, resource.ids))) {
      if (change.reading !== undefined || (kind === 'table' && actions.includes('Query'))) {
        const keys = change.reading
          ? [extent.cell.readings!.before.key, extent.cell.readings!.after.key]
          : directions[0] === 'gain'
            ? ['none', 'all']
            : ['all', 'none'];
        found.add(`reading ${keys.join(' -> ')} ${ids.join(' ')}`);
      }
      for (const action of actions) {
        if (!ASKED[kind].includes(action) || (kind === 'table' && action === 'Query')) continue;
        found.add(`${directions[0]} ${action} ${kind} ${ids.join(' ')}`);
      }
    }
  }
  return found;
}

function compare(before: RandomSet, after: RandomSet): void {
  const [was, is] = [before, after].map((set) => new PolicySet(objectsOf(set), DEPLOYMENT, CLOCK)) as [
    PolicySet,
    PolicySet,
  ];
  const plan = planOf(was, is);
  expect(plan.tooMuch).toEqual([]);
  const assigned = new Set([...was.subjects().keys(), ...is.subjects().keys()]);
  // A user without an assignment has the roles of the domain, which is a subject itself.
  for (const subject of SUBJECTS.filter(({ type, name }) => assigned.has(`${type}:${name}`))) {
    const own = plan.changed.find(({ who }) => who.type === subject.type && who.name === subject.name);
    const expected = differences(was, is, subject);
    const found = planned(own ?? { changes: [] });
    expect({
      missing: [...expected.difference(found)].sort(),
      invented: [...found.difference(expected)].sort(),
    }).toEqual({
      missing: [],
      invented: [],
    });
  }
}

describe('a plan has exactly what the authorizer decides differently', () => {
  it.each([
    { pairs: 600, title: 'after one or two changes', change: changed },
    { pairs: 400, title: 'between unrelated sets', change: (random: Random) => randomSet(random) },
  ])('$pairs pairs $title', ({ pairs, change }) => {
    const random = seeded(pairs);
    for (let pair = 0; pair < pairs; pair++) {
      const before = randomSet(random);
      compare(before, change(random, before));
    }
  });
});
