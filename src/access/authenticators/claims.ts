import type { JWTPayload } from 'jose';
import { claimValue } from '../policy/conditions/caller-values.ts';
import type { Principal } from '../principal.ts';
import { emailDomain, foldCase, LOCAL_ADMINISTRATOR_NAME } from '../subjects.ts';

// What a claim says about who somebody is. A claim that cannot be read is a problem, never "none": a deny for a group or a domain would
// not apply to its members.

/** The value of a claim, or why it cannot be read, as a sentence without its end. */
export type Claim<T> = { readonly value: T } | { readonly problem: string };

const MAX_GROUPS = 1000;
const MAX_NAME_LENGTH = 1024;

/** The groups of a token, without those that belong to another authority. A token without the claim has none. */
export function groupsOf(payload: JWTPayload, claim: string): Claim<readonly string[]> {
  const groups = payload[claim];
  if (isElsewhere(payload, claim))
    return {
      problem: `the identity provider has left the groups out of the token, as it does when there are too many: let it send only those of this application in \`${claim}\``,
    };
  if (groups === undefined) return { value: [] };
  const problem = problemOfGroups(groups);
  if (problem !== undefined)
    return { problem: `the claim \`${claim}\` ${problem}: it must be a list of at most ${MAX_GROUPS} names` };
  return { value: [groups].flat().filter((name): name is string => typeof name === 'string' && !isReserved(name)) };
}

function problemOfGroups(groups: unknown): string | undefined {
  if (typeof groups === 'string') {
    const problem = /[,;]/.test(groups) ? 'one text with several names' : problemOfName(groups);
    return problem === undefined ? undefined : `is ${problem}`;
  }
  if (!Array.isArray(groups)) return `is ${kindOf(groups)}`;
  if (groups.length > MAX_GROUPS) return `has ${groups.length} names`;
  for (const entry of groups as unknown[]) {
    const problem = problemOfName(entry);
    if (problem !== undefined) return `contains ${problem}`;
  }
  return undefined;
}

/** Why a value is not the name of a group, as a noun; undefined for a name. */
export function problemOfName(name: unknown): string | undefined {
  if (typeof name !== 'string') return kindOf(name);
  if (name.trim() === '') return 'an empty text';
  if (name.length > MAX_NAME_LENGTH) return `a text of ${name.length} characters`;
  if (/^\s|\s$|\p{Cc}/u.test(name)) return 'a text with control characters or with white space around it';
  return isJson(name) ? 'a text that is JSON' : undefined;
}

function isJson(text: string): boolean {
  if (!/^[[{"]/.test(text)) return false;
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

function kindOf(value: unknown): string {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'a list';
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`;
}

/** Whether the provider refers to another place for the claim (OpenID Connect Core 5.6.2; Microsoft's overage of groups). */
function isElsewhere(payload: JWTPayload, claim: string): boolean {
  const names = payload['_claim_names'];
  if (typeof names === 'object' && names !== null && Object.hasOwn(names, claim)) return true;
  const left = claim === 'groups' ? payload['hasgroups'] : undefined;
  return payload[claim] === undefined && (left === true || left === 'true');
}

/** The domain of the verified e-mail address; undefined for a token without one. */
export function domainOf(payload: JWTPayload): Claim<string | undefined> {
  const { email, email_verified: verified } = payload;
  if (verified !== undefined && typeof verified !== 'boolean')
    return { problem: `the claim \`email_verified\` is ${kindOf(verified)}: it must be true or false` };
  if (isElsewhere(payload, 'email'))
    return { problem: 'the identity provider has left the e-mail address out of the token' };
  if (email === undefined || verified !== true) return { value: undefined };
  const domain = typeof email === 'string' ? emailDomain(email) : undefined;
  return domain === undefined
    ? { problem: 'the claim `email` is no e-mail address: it must be one, such as `ann@example.com`' }
    : { value: domain };
}

/** The claims of these names that conditions can use. One of another form is left out, so that a condition with it does not apply. */
export function conditionClaimsOf(payload: JWTPayload, names: readonly string[]): Principal['claims'] {
  if (names.length === 0) return undefined;
  const found = names.flatMap((name) => {
    const value = Object.hasOwn(payload, name) ? claimValue(payload[name]) : undefined;
    return value === undefined ? [] : [[name, value] as const];
  });
  return Object.fromEntries(found);
}

/** Names of Kubernetes for its service accounts, components and their groups. */
const KUBERNETES_PREFIX = 'system:';

/** Whether only another authenticator may assert the name: a user of an issuer would be the same subject, and the owner of its results. */
export function isReserved(name: string): boolean {
  const folded = foldCase(name);
  return folded.startsWith(KUBERNETES_PREFIX) || folded === LOCAL_ADMINISTRATOR_NAME;
}
