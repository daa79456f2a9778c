import { SUBJECT_TYPES, type Subject, type SubjectType } from '../resources/role-assignment.ts';
import type { Decision } from './authorizer.ts';
import { tokenPrincipal, type Directory } from './directory.ts';
import type { Principal } from './principal.ts';
import { srnText, type Srn } from './srn.ts';

export interface SimulatedRequest {
  readonly action: string;
  readonly resource: Srn;
}

export interface Simulation {
  readonly subjects: readonly Subject[];
  /** Names of the roles that the subjects have together. */
  readonly roles: readonly string[];
  /** One for each request, in order. */
  readonly decisions: readonly Decision[];
}

/**
 * What would be decided for somebody with these subjects, by the very code that enforces.
 * @param unsaved the spec of a policy that is not stored, taken together with the stored ones; undefined for none
 */
export function simulate(
  directory: Directory,
  subjects: readonly Subject[],
  unsaved: unknown,
  requests: readonly SimulatedRequest[],
): Simulation {
  const roles = [
    ...new Set(subjects.flatMap((subject) => directory.existingRolesOf(asPrincipal(directory, subject)))),
  ].sort();
  const grants = directory.engine.simulatedGrants(roles, unsaved);
  const decisions = requests.map(({ action, resource }) => directory.engine.decideWith(grants, action, resource));
  return { subjects, roles, decisions };
}

/** `email` is another spelling of `user-email`; undefined for what is no type of subject. */
export function subjectTypeOf(text: string): SubjectType | undefined {
  if (text === 'email') return 'user-email';
  return SUBJECT_TYPES.find((type) => type === text);
}

/** A principal that has this one subject and no other. */
function asPrincipal(directory: Directory, { type, name }: Subject): Principal {
  if (type === 'service-token') return tokenPrincipal(directory.tokenNameOf(name) ?? name);
  const nobody = { kind: 'user', srn: srnText('user', name), authenticator: 'simulation' } as const;
  return {
    ...nobody,
    id: type === 'user-email' ? name : '',
    groups: type === 'group' ? [name] : [],
    domain: type === 'domain' ? name : undefined,
  };
}
