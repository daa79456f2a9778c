import type { Slices } from '../../platform/long-work.ts';
import { SUBJECT_TYPES, type Subject, type SubjectType } from '../../resources/role-assignment.ts';
import type { GrantSet } from './grants/grant-set.ts';
import { ManagerError } from '../errors.ts';
import { tokenPrincipal, type Directory } from '../directory.ts';
import type { Principal } from '../principal.ts';
import { emailDomain, sameSubject } from '../subjects.ts';
import type { CallerValues } from '../sql/row-filter.ts';
import { callerValues, claimValues, combinedValues } from './conditions/caller-values.ts';
import type { PartialDecision } from './conditions/partly-allowed.ts';
import { srnText, type Srn } from './srn.ts';

export interface SimulatedRequest {
  readonly action: string;
  /** What the request may mean, at least one: it is allowed if each of them is. */
  readonly resources: readonly Srn[];
}

/** Whom a simulation is about. */
export interface SimulatedCaller {
  readonly subjects: readonly Subject[];
  readonly claims?: Principal['claims'];
}

export interface Simulation {
  /** The given ones, and the domains of their e-mail addresses. */
  readonly subjects: readonly Subject[];
  /** Names of the roles of all subjects. */
  readonly roles: readonly string[];
  /** One per request, in order. */
  readonly decisions: readonly PartialDecision[];
}

/** Searched patterns times questions: less than a second of CPU time in the worst case. */
const MAX_SEARCHES = 200_000;

/**
 * Decides for the given subjects, with the same code that enforces.
 * @param caller its subjects, and the claims of its token for row filters, by name
 * @param unsaved spec of a policy that is not stored, evaluated together with the stored ones; undefined for none
 * @throws {ManagerError} invalid, if there are too many requests for the number of patterns
 */
export function* simulate(
  directory: Directory,
  { subjects, claims = {} }: SimulatedCaller,
  unsaved: unknown,
  requests: readonly SimulatedRequest[],
): Slices<Simulation> {
  const all = withDomains(subjects);
  const roles = [...new Set(all.flatMap((subject) => rolesOfSubject(directory, subject)))].sort();
  const grants = directory.engine.simulatedGrants(roles, unsaved);
  const questions = requests.reduce((sum, { resources }) => sum + resources.length, 0);
  requireBoundedWork(grants, questions);
  yield;
  const ofSubjects = combinedValues(all.map((subject) => callerValues(asPrincipal(directory, subject))));
  const values = { ...ofSubjects, ...claimValues(claims) };
  const decisions: PartialDecision[] = [];
  for (const request of requests) {
    decisions.push(decideForAll(directory, grants, { ...request, values }));
    yield;
  }
  return { subjects: all, roles, decisions };
}

/** The first denial, or the first decision with conditions, or the decision about the first resource. */
export function decideForAll(
  { engine }: Directory,
  grants: GrantSet,
  { action, resources, values }: SimulatedRequest & { readonly values?: CallerValues },
): PartialDecision {
  const decisions = resources.map((resource) => engine.decideWith(grants, action, resource, values));
  const refused = decisions.filter(({ allowed }) => !allowed);
  return refused.find(({ reason }) => reason !== 'conditional') ?? refused[0] ?? decisions[0]!;
}

/** Also the domains of the e-mail addresses: a user with the address has the roles of its domain. */
function withDomains(subjects: readonly Subject[]): readonly Subject[] {
  const domains = subjects.flatMap(({ type, name }) => (type === 'user-email' ? (emailDomain(name) ?? []) : []));
  const derived = [...new Set(domains)].map((name): Subject => ({ type: 'domain', name }));
  return [...subjects, ...derived.filter((one) => !subjects.some((given) => sameSubject(given, one)))];
}

function requireBoundedWork({ searchedPatternCount: patterns }: GrantSet, questions: number): void {
  const allowed = Math.max(1, Math.floor(MAX_SEARCHES / patterns));
  if (questions <= allowed) return;
  throw new ManagerError(
    'invalid',
    `\`requests\` has ${questions} entries: at most ${allowed} are allowed for the ${patterns} resources with a \`*\` before their end that these roles and this policy have`,
  );
}

/** Names of the existing roles assigned directly to a subject. */
export function rolesOfSubject(directory: Directory, subject: Subject): readonly string[] {
  return directory.existingRolesOf(asPrincipal(directory, subject));
}

/** `email` is an alias of `user-email`; undefined for an invalid subject type. */
export function subjectTypeOf(text: string): SubjectType | undefined {
  if (text === 'email') return 'user-email';
  return SUBJECT_TYPES.find((type) => type === text);
}

/** A principal with only this subject; a user has the domain of its e-mail address, too. */
export function asPrincipal(directory: Directory, { type, name }: Subject): Principal {
  if (type === 'service-token') return tokenPrincipal(directory.tokenNameOf(name) ?? name);
  const nobody = { kind: 'user', srn: srnText('user', name), authenticator: 'simulation' } as const;
  return {
    ...nobody,
    id: type === 'user-email' ? name : '',
    groups: type === 'group' ? [name] : [],
    domain: type === 'domain' ? name : type === 'user-email' ? emailDomain(name) : undefined,
  };
}
