/**
 * Whether resource version `a` is newer than `b`. Kubernetes promises that versions of one resource compare as integers of any size
 * (since 1.35, and true of every server on etcd before); both are canonical decimals, so the longer one is larger. Versions that are no numbers
 * cannot be ordered: the one that came last counts as newer.
 */
export function isNewer(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a !== b;
  if (!isNumber(a) || !isNumber(b)) return a !== b;
  return a.length === b.length ? a > b : a.length > b.length;
}

function isNumber(version: string): boolean {
  return /^[0-9]+$/.test(version);
}
