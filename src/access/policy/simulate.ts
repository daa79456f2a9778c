import type { Parts } from '../../platform/long-work.ts';
import { SUBJECT_TYPES, type Subject, type SubjectType } from '../../resources/role-assignment.ts';
import type { Decision } from '../authorizer.ts';
import type { GrantSet } from './grants/grant-set.ts';
import { ManagerError } from '../errors.ts';
import { tokenPrincipal, type Directory } from '../directory.ts';
import type { Principal } from '../principal.ts';
import { srnText, type Srn } from './srn.ts';

export interface SimulatedRequest {
  readonly action: string;
  readonly resource: Srn;
}

export interface Simulation {
  readonly subjects: readonly Subject[];
  /** Names of the roles of all subjects. */
  readonly roles: readonly string[];
  /** One per request, in order. */
  readonly decisions: readonly Decision[];
}

/** Searched patterns times questions: less than a second of CPU time in the worst case. */
const MAX_SEARCHES = 200_000;

/**
 * Decides for the given subjects, with the same code that enforces.
 * @param unsaved spec of a policy that is not stored, evaluated together with the stored ones; undefined for none
 * @throws {ManagerError} invalid, if there are too many requests for the number of patterns
 */
export function* simulate(
  directory: Directory,
  subjects: readonly Subject[],
  unsaved: unknown,
  requests: readonly SimulatedRequest[],
): Parts<Simulation> {
  const roles = [...new Set(subjects.flatMap((subject) => rolesOfSubject(directory, subject)))].sort();
  const grants = directory.engine.simulatedGrants(roles, unsaved);
  requireBoundedWork(grants, requests.length);
  yield;
  const decisions: Decision[] = [];
  for (const { action, resource } of requests) {
    decisions.push(directory.engine.decideWith(grants, action, resource));
    yield;
  }
  return { subjects, roles, decisions };
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

/** A principal with only this subject. */
export function asPrincipal(directory: Directory, { type, name }: Subject): Principal {
  if (type === 'service-token') return tokenPrincipal(directory.tokenNameOf(name) ?? name);
  const nobody = { kind: 'user', srn: srnText('user', name), authenticator: 'simulation' } as const;
  return {
    ...nobody,
    id: type === 'user-email' ? name : '',
    groups: type === 'group' ? [name] : [],
    domain: type === 'domain' ? name : undefined,
  };
}
