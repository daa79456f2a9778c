// Limits of tests. Only a test that fails waits for them, so they suit a machine that is forty times slower than a quiet one.

/** The longest wait for one state, and for the response to one request, in milliseconds. */
export const WAIT_LIMIT_MS = 120_000;

/** The longest run of one test or hook, in milliseconds: several waits. */
export const TEST_LIMIT_MS = 600_000;

/** The flag of `kubectl wait`, `kubectl rollout status` and `kubectl delete` with the longest wait. */
export const KUBECTL_TIMEOUT = `--timeout=${WAIT_LIMIT_MS / 1000}s`;
