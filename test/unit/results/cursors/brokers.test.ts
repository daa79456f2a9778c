import { beforeEach, describe, expect, it } from 'vitest';
import { FakeClock } from '../../../support/fake-clock.ts';
import { EngineError, type EngineEndpoint } from '../../../../src/pinot/types.ts';
import { CursorBrokers, type CursorRecord } from '../../../../src/results/cursors/brokers.ts';
import { NO_METRICS } from '../../../../src/results/metrics.ts';
import { readRecording } from '../../../support/replay-engine.ts';
import { responseOf, StubEndpoint, submission } from '../answers.ts';

const META = readRecording('1.5.1', 'cursor/meta').body;
const RECORD: CursorRecord = {
  ...submission(),
  version: 1,
  rowCount: 10,
  rowBytes: 0,
  stride: 1,
  checkpoints: 0,
  dataSchema: '{}',
  tableFields: [],
  fields: [],
  cursor: {
    url: 'http://broker.test:8099',
    requestId: '643128405000000011',
    submissionTimeMs: 1795218639928,
    bytes: 773,
  },
};

describe('results at the brokers', () => {
  let holder: StubEndpoint;
  let other: EngineEndpoint | undefined;
  let problems: string[];
  let brokers: CursorBrokers;
  let failures: [operation: string, failed: boolean][];
  /** Of the calls, in seconds. */
  let durations: number[];
  let clock: FakeClock;
  const signal = new AbortController().signal;

  beforeEach(() => {
    holder = new StubEndpoint();
    other = undefined;
    problems = [];
    failures = [];
    durations = [];
    clock = new FakeClock();
    brokers = new CursorBrokers({
      engine: {
        brokerAt: async (url) => (url === holder.url ? holder : undefined),
        brokerFor: async () => {
          if (other === undefined) throw new EngineError('no-broker', 'there is none');
          return other;
        },
      },
      metrics: {
        ...NO_METRICS,
        storeCall: (operation, seconds, failed) => {
          failures.push([operation, failed]);
          durations.push(seconds);
        },
      },
      clock,
      onProblem: (message) => problems.push(message),
    });
  });

  const page = () => brokers.page(RECORD, { offset: 3, numRows: 2 }, signal);

  it('requests have a time-out and an abort signal', async () => {
    holder.answer = () => responseOf(META);
    await page();
    await brokers.metadata(RECORD, signal);
    expect(holder.requests).toEqual([
      {
        method: 'GET',
        path: '/responseStore/643128405000000011/results?offset=3&numRows=2',
        headers: { 'accept-encoding': 'identity' },
        headersTimeoutMs: 60_000,
        signal,
      },
      {
        method: 'GET',
        path: '/responseStore/643128405000000011',
        headers: { 'accept-encoding': 'identity' },
        headersTimeoutMs: 10_000,
        signal,
      },
    ]);
  });

  it('calls are measured in seconds, those that fail as well', async () => {
    holder.answer = () => {
      clock.jump(250);
      return responseOf(META);
    };
    await page();
    holder.answer = () => {
      clock.jump(3000);
      return Promise.reject(new EngineError('timeout', 'not now'));
    };
    await expect(page()).rejects.toMatchObject({ code: 'timeout' });
    expect(durations).toEqual([0.25, 3]);
  });

  it.each([
    ['afterdel', 404, 'not-found', /at the engine: expired or deleted/],
    ['page_past', 500, 'bad-page', /Offset 100 should be lesser than totalRecords 10/],
    ['page_neg', 500, 'bad-answer', /responded with status 500: fromIndex = -1/],
    ['page_nan', 404, 'no-cursors', /before 1\.3/],
    ['noauth_page', 401, 'bad-answer', /`engine-credential-file`/],
  ])('map the error response %s with status %i to %s', async (name, status, code, message) => {
    const recorded = readRecording('1.5.1', `cursor/${name}`);
    expect(recorded.status).toBe(status);
    holder.answer = () => responseOf(recorded.body, { status });
    await expect(page()).rejects.toMatchObject({ code, message: expect.stringMatching(message) });
    expect(failures).toEqual([['cursor_page', code !== 'not-found' && code !== 'bad-page']]);
  });

  it('requests that time out or are rejected as overloaded are not sent to another broker', async () => {
    for (const code of ['timeout', 'overloaded'] as const) {
      holder.answer = () => Promise.reject(new EngineError(code, 'not now'));
      await expect(page()).rejects.toMatchObject({ name: 'EngineError', code });
    }
  });

  it('another broker with the result replaces an unreachable one', async () => {
    holder.answer = () => Promise.reject(new EngineError('unreachable', 'connect ECONNREFUSED'));
    await expect(page()).rejects.toMatchObject({ code: 'store-unavailable', message: /unreachable/ });
    const stub = new StubEndpoint();
    other = { url: 'http://other.test:8099', request: (request) => stub.request(request) };
    const notThere = responseOf('Query results for 643128405000000011 not found.', { status: 404 });
    stub.answer = () => notThere;
    await expect(page()).rejects.toMatchObject({ code: 'store-unavailable' });
    expect(notThere.body.destroyed).toBe(true);
    stub.answer = () => responseOf(META);
    expect((await page()).status).toBe(200);
    expect(stub.requests).toHaveLength(2);
  });

  it('an abort by the client takes precedence over other errors', async () => {
    const gone = AbortSignal.abort();
    holder.answer = () => Promise.reject(new EngineError('aborted', 'given up'));
    await expect(brokers.page(RECORD, { offset: 0, numRows: 1 }, gone)).rejects.toMatchObject({ code: 'aborted' });
    holder.answer = () => Promise.reject(new EngineError('unreachable', 'given up'));
    await expect(brokers.page(RECORD, { offset: 0, numRows: 1 }, gone)).rejects.toMatchObject({ code: 'aborted' });
  });

  it.each([
    ['another submission time', META.replace('1795218639928', '1795218639929')],
    ['another id', META.replace('643128405000000011', '643128405000000012')],
    ['no cursor', META.replace('"submissionTimeMs":1795218639928,', '')],
  ])('are not accepted with %s', async (_what, body) => {
    holder.answer = () => responseOf(body);
    await expect(brokers.metadata(RECORD, signal)).rejects.toMatchObject({ code: 'not-found' });
    holder.requests.length = 0;
    await brokers.delete(RECORD, signal);
    expect(holder.requests.map(({ method }) => method)).toEqual(['GET']);
  });

  it('results that cannot be deleted are reported', async () => {
    holder.answer = ({ method }) => (method === 'GET' ? responseOf(META) : responseOf('disk', { status: 500 }));
    await expect(brokers.delete(RECORD, signal)).rejects.toMatchObject({ code: 'bad-answer' });
    await brokers.forget(RECORD);
    expect(problems).toEqual([
      expect.stringMatching(/^failed to delete an unused result at the engine.*status 500: disk/),
    ]);
  });

  it('results that the engine does not have need no deletion', async () => {
    const noCursors = readRecording('1.5.1', 'cursor/page_nan');
    const notFound = readRecording('1.5.1', 'cursor/afterdel');
    for (const { body, status } of [noCursors, notFound]) {
      holder.answer = () => responseOf(body, { status });
      await brokers.delete(RECORD, signal);
    }
    expect(holder.requests).toHaveLength(2);
  });

  it('results of a broker that is not live are not available', async () => {
    const elsewhere = { ...RECORD, cursor: { ...RECORD.cursor, url: 'http://gone.test:8099' } };
    const read = brokers.page(elsewhere, { offset: 0, numRows: 1 }, signal);
    await expect(read).rejects.toThrow('the broker http://gone.test:8099 with the result is not live: try again later');
    holder.answer = () => Promise.reject(new EngineError('unreachable', 'connect ECONNREFUSED'));
    await expect(page()).rejects.toThrow(
      'the broker http://broker.test:8099 with the result is unreachable: try again',
    );
  });
});
