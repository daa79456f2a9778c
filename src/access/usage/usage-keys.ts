import { hash } from 'node:crypto';
import type { Statement } from '../../resources/policy.ts';
import type { Subject } from '../../resources/role-assignment.ts';
import { subjectKey } from '../subjects.ts';

/** 72 bits of a hash: keys have one length whatever the names, and two of 40,000 are the same with a probability of 10⁻¹³. */
const KEY_LENGTH = 12;

function keyOf(...parts: readonly string[]): string {
  return hash('sha256', JSON.stringify(parts), 'base64url').slice(0, KEY_LENGTH);
}

export function roleUsageKey(role: string): string {
  return keyOf('role', role);
}

/** By the content of the statement: a changed statement is another one, a moved one is the same. */
export function statementUsageKey(policy: string, { effect, actions, resources, conditions }: Statement): string {
  const content = [effect ?? 'deny', actions ?? null, resources];
  return keyOf('statement', policy, JSON.stringify(conditions === undefined ? content : [...content, conditions]));
}

/** @param subject a service token by the name of its object */
export function assignmentUsageKey(role: string, { type, name }: Pick<Subject, 'type' | 'name'>): string {
  return keyOf('assignment', role, subjectKey(type, name));
}

/** @param name of the ServiceToken object */
export function tokenUsageKey(name: string): string {
  return keyOf('service-token', name);
}
