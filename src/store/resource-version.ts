/**
 * Whether resource version `a` is newer than `b`. Versions of one resource compare as integers of any size (guaranteed since
 * Kubernetes 1.35, and true before for every server on etcd). Both are canonical decimals, so that the longer one is larger. Other versions
 * have no order: `a`, which arrived later, counts as newer.
 */
export function isNewer(a: string | undefined, b: string | undefined): boolean {
  if (a === undefined || b === undefined) return a !== b;
  if (!isNumber(a) || !isNumber(b)) return a !== b;
  return a.length === b.length ? a > b : a.length > b.length;
}

function isNumber(version: string): boolean {
  return /^[0-9]+$/.test(version);
}
