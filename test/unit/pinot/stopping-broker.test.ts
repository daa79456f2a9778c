import { expect, it } from 'vitest';
import { isStoppingAnswer } from '../../../src/pinot/stopping-broker.ts';

const POOL = 'java.util.concurrent.ThreadPoolExecutor@5fc1f6a3[Terminated, pool size = 0]';

it.each([
  [200, `QueryExecutionError: Task java.util.concurrent.CompletableFuture$AsyncSupply@1b rejected from ${POOL}`, true],
  [425, 'BrokerRequestSendError', true],
  // What a query names or contains can be part of an error message.
  [710, `UnknownColumnError: Unknown columnName 'rejected from ${POOL}' found in the query`, false],
  [200, `QueryExecutionError: cannot cast 'Task x rejected from ${POOL}'`, false],
])('the error %i `%s` shows that the broker is stopping: %s', (errorCode, message, expected) => {
  const head = { status: 200, rawHeaders: ['x-pinot-error-code', String(errorCode)] };
  const body = Buffer.from(JSON.stringify({ exceptions: [{ errorCode, message }] }));
  expect(isStoppingAnswer(head as never, [body])).toBe(expected);
});
