import { createHash } from 'node:crypto';
import type { Subject } from '../../resources/role-assignment.ts';
import { subjectKey } from '../subjects.ts';

/** Maximum length of the role name within an assignment name; the hash keeps names unique. */
const ROLE_PART_LENGTH = 200;
const HASH_LENGTH = 20;

/** Name of the assignment object for a role and a subject; the same on every gateway. */
export function assignmentName(role: string, subject: Subject): string {
  const hash = createHash('sha256')
    .update(`${role}\n${subjectKey(subject.type, subject.name)}`)
    .digest('hex')
    .slice(0, HASH_LENGTH);
  return `${role.slice(0, ROLE_PART_LENGTH).replace(/[-.]+$/, '')}-${hash}`;
}
