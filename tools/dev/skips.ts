/**
 * Reasons for which tests may be skipped in a run of all tests: what the machine cannot do, or a version that nothing can install. A missing program is not among
 * them, because its tests would run nowhere without anybody noticing. The reason is in the name of the test or of its group.
 */
const ALLOWED: readonly RegExp[] = [
  // forVersions() of test/support/for-versions.ts: a cluster of such a version is given by TEST_CONTROLLER.
  /\(Pinot (?:>=|<)\d+\.\d+; tested: [\d.]+\)/,
  /\(skipped: requires root\)/,
  /\(skipped: `unshare -rm` does not work on this machine\)/,
  // test/support/node/machine.ts and test/support/kind/choice.ts: neither kind nor a node in namespaces.
  /\(skipped: (?:kind needs a Docker that works here; )?(?:a node needs (?:Linux|root|\d+ GB of memory)|the node is made for cgroup v1|the cgroup v1 controllers |cgroups cannot be made|namespaces cannot be made)/,
];

/** The skipped tests whose names have no allowed reason. */
export function skippedWithoutReason(names: readonly string[]): string[] {
  return names.filter((name) => !ALLOWED.some((reason) => reason.test(name)));
}

export interface Count {
  readonly passed: number;
  readonly failed: number;
  /** What failed: a step, an error outside of tests, or a test with its file. */
  readonly failures?: readonly string[];
  /** Names of the skipped tests; the name of a test or of its group contains the reason. */
  readonly skipped?: readonly string[];
}

export interface Total {
  readonly text: string;
  readonly failed: number;
}

/** The end of the output of all tests. Its last line begins with `N passed, N failed`. A test that is skipped without an allowed reason counts as failed. */
export function total({ passed, failed, failures = [], skipped = [] }: Count): Total {
  const wrong = skippedWithoutReason(skipped);
  const allowed = skipped.filter((name) => !wrong.includes(name));
  const lines = [
    ...list('skipped', allowed),
    ...list('skipped without an allowed reason (tools/dev/skips.ts), which fails', wrong),
    ...list('failed', failures),
  ];
  const all = failed + wrong.length;
  const rest = allowed.length === 0 ? '' : `, ${allowed.length} skipped`;
  return { text: [...lines, '', `${passed} passed, ${all} failed${rest}`, ''].join('\n'), failed: all };
}

function list(what: string, names: readonly string[]): string[] {
  return names.length === 0 ? [] : ['', `${names.length} ${what}:`, ...names.map((name) => `  ${name}`)];
}
