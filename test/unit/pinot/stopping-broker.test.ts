import { expect, it } from 'vitest';
import { isStoppingResponse } from '../../../src/pinot/stopping-broker.ts';

const POOL = 'java.util.concurrent.ThreadPoolExecutor@5fc1f6a3[Terminated, pool size = 0]';

it.each([
  [200, `QueryExecutionError: Task java.util.concurrent.CompletableFuture$AsyncSupply@1b rejected from ${POOL}`, true],
  [425, 'BrokerRequestSendError', true],
  // Recorded from 1.5.1: the multi-stage engine.
  [
    1000,
    'UnknownError: Task java.util.concurrent.FutureTask@39244cc7[Not completed, task = org.apache.pinot.spi.query.QueryThreadContext$1$$Lambda$1273/0x00007fbf21876d30@5aa2385b] rejected from java.util.concurrent.ThreadPoolExecutor@30f8a0c3[Shutting down, pool size = 1, active threads = 1, queued tasks = 0, completed tasks = 1]',
    true,
  ],
  [720, `QueryPlanningError: Task java.util.concurrent.FutureTask@39244cc7[Not completed] rejected from ${POOL}`, true],
  // A pool that is full, and not shut down.
  [
    1000,
    'UnknownError: Task java.util.concurrent.FutureTask@1 rejected from java.util.concurrent.ThreadPoolExecutor@2[Running, pool size = 1]',
    false,
  ],
  [1000, `UnknownError: cannot cast 'Task x rejected from ${POOL}'`, false],
  [720, `QueryPlanningError: Error composing query plan for: SELECT 'Task x rejected from ${POOL}'`, false],
  [720, `QueryPlanningError: cannot plan\nTask x rejected from ${POOL}`, false],
  // Only an error outside of the query can be about the pool.
  [700, `QueryValidationError: Task x rejected from ${POOL}`, false],
  // What a query names or contains can be part of an error message.
  [710, `UnknownColumnError: Unknown columnName 'rejected from ${POOL}' found in the query`, false],
  [200, `QueryExecutionError: cannot cast 'Task x rejected from ${POOL}'`, false],
])('the error %i `%s` shows that the broker is stopping: %s', (errorCode, message, expected) => {
  const head = { status: 200, rawHeaders: ['x-pinot-error-code', String(errorCode)] };
  const body = Buffer.from(JSON.stringify({ exceptions: [{ errorCode, message }] }));
  expect(isStoppingResponse(head as never, [body])).toBe(expected);
});
