import { NAME_MAX_LENGTH, NAME_PATTERN, type ObjectMeta } from '../resources/meta.ts';
import type { ResourceKind } from '../resources/kinds.ts';
import { StoreError } from './resource-store.ts';

const namePattern = new RegExp(NAME_PATTERN);

/** Whether the name is valid for an object. Invalid names must not become part of a path. */
export function isObjectName(name: string): boolean {
  return name.length <= NAME_MAX_LENGTH && namePattern.test(name);
}

/** @throws {StoreError} invalid */
export function assertObjectName(kind: ResourceKind, name: string): void {
  if (!isObjectName(name))
    throw new StoreError(
      'invalid',
      `${kind} \`${name}\`: invalid name: it must consist of lower-case letters, digits, \`-\` and \`.\`, begin and end with a letter or digit, and have at most ${NAME_MAX_LENGTH} characters`,
    );
}

export function notFound(kind: ResourceKind, name: string): StoreError {
  return new StoreError('not-found', `${kind} \`${name}\` does not exist`);
}

/** An update without a version would overwrite concurrent changes. @throws {StoreError} invalid */
export function assertVersion(kind: ResourceKind, metadata: Readonly<ObjectMeta>): void {
  if (metadata.resourceVersion === undefined || metadata.resourceVersion === '')
    throw new StoreError(
      'invalid',
      `${kind} \`${metadata.name}\`: missing \`metadata.resourceVersion\`: take it from the object that was read`,
    );
}

/** The name of an object that is to be updated. @throws {StoreError} not-found for an invalid name, invalid without a version */
export function updatableName(kind: ResourceKind, metadata: Readonly<ObjectMeta>): string {
  if (!isObjectName(metadata.name)) throw notFound(kind, metadata.name);
  assertVersion(kind, metadata);
  return metadata.name;
}
