import { NAME_MAX_LENGTH, NAME_PATTERN, type ObjectMeta } from '../resources/meta.ts';
import type { ResourceKind } from '../resources/kinds.ts';
import { StoreError } from './resource-store.ts';

const namePattern = new RegExp(NAME_PATTERN);

/** Whether an object can have this name; what cannot is never made a part of a path. */
export function isObjectName(name: string): boolean {
  return name.length <= NAME_MAX_LENGTH && namePattern.test(name);
}

/** @throws {StoreError} invalid */
export function assertObjectName(kind: ResourceKind, name: string): void {
  if (!isObjectName(name))
    throw new StoreError(
      'invalid',
      `${kind} \`${name}\`: the name must consist of lower case letters, digits, \`-\` and \`.\`, begin and end with a letter or digit, and have at most ${NAME_MAX_LENGTH} characters`,
    );
}

export function notFound(kind: ResourceKind, name: string): StoreError {
  return new StoreError('not-found', `${kind} \`${name}\` does not exist`);
}

/** An update without a version would overwrite what somebody else wrote meanwhile. @throws {StoreError} invalid */
export function assertVersion(kind: ResourceKind, metadata: Readonly<ObjectMeta>): void {
  if (metadata.resourceVersion === undefined || metadata.resourceVersion === '')
    throw new StoreError(
      'invalid',
      `${kind} \`${metadata.name}\`: \`metadata.resourceVersion\` is missing: take it from the object that you read`,
    );
}
