/** @throws {Error} usage error */
export function oneOf<T extends string>(option: string, value: string, allowed: readonly T[]): T {
  const found = allowed.find((candidate) => candidate === value);
  if (found === undefined) throw new Error(`invalid \`${option} ${value}\`: it must be one of ${allowed.join(', ')}`);
  return found;
}
