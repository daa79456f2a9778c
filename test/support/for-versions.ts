import { it } from 'vitest';
import { inRange, sharedVersion } from './pinot-version.ts';

/**
 * `it` for tests on the shared Pinot that hold only for some versions; skipped for others, with the range in the name of the test.
 * @param range such as `>=1.0`
 */
export async function forVersions(
  range: string,
): Promise<(name: string, test: () => Promise<void>, timeout?: number) => void> {
  const version = await sharedVersion();
  const applies = inRange(version, range);
  return (name, test, timeout) => it.skipIf(!applies)(`${name} (Pinot ${range}; tested: ${version})`, test, timeout);
}
