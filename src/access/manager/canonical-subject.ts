import type { Subject } from '../../resources/role-assignment.ts';
import type { Directory } from '../directory.ts';
import { foldCase } from '../subjects.ts';

/** Gives equal subjects one name: a token is named by its object, even if the request used its access key. */
export function canonicalSubject(directory: Directory, subject: Subject): Subject {
  const { type, name } = subject;
  if (type === 'service-token') return { ...subject, name: directory.tokenNameOf(name) ?? name };
  return type === 'group' ? subject : { ...subject, name: foldCase(name) };
}
