import { connect, type AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterEach, beforeEach, expect, it } from 'vitest';
import { clusterResource } from '../../../../src/access/policy/srn.ts';
import { requireAllowed } from '../../../../src/api/server/context.ts';
import type { AuditRecord } from '../../../../src/api/server/logs/audit-record.ts';
import { testApp, TEST_HEADERS } from '../../../support/app.ts';
import { validAuditLog } from '../../../support/audit-records.ts';
import { FakeClock } from '../../../support/fake-clock.ts';
import { until } from '../../../support/until.ts';
import { once } from '../../../support/once.ts';

let app: FastifyInstance;
let records: AuditRecord[];
/** What the handler did, in order. */
let steps: string[];

beforeEach(async () => {
  records = [];
  steps = [];
  app = await testApp({
    parts: { audit: validAuditLog(records, new FakeClock()) },
    register: async (scope) => {
      scope.delete('/thing', async (request, reply) => {
        if (request.headers['x-first'] === 'require') requireAllowed(request, 'A', clusterResource, { write: true });
        steps.push('waits');
        await once(reply.raw, 'close');
        try {
          requireAllowed(request, 'DeleteThing', clusterResource, { write: true });
          steps.push('writes');
        } catch (error) {
          steps.push(String(error));
        }
      });
    },
  });
  await app.listen({ host: '127.0.0.1', port: 0 });
});

afterEach(() => app.close());

/** Sends the request and disconnects while the handler waits. */
async function disconnect(...headers: readonly string[]): Promise<void> {
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1');
  const head = ['DELETE /thing HTTP/1.1', 'Host: gateway', `Authorization: ${TEST_HEADERS.authorization}`, ...headers];
  socket.write([...head, '', ''].join('\r\n'));
  await until('the handler waits', () => steps.length > 0);
  socket.destroy();
  await until('the handler ends', () => steps.length > 1);
}

it('refuses a write whose client disconnected before it was authorized, because it would have no record', async () => {
  await disconnect();
  expect(steps).toEqual(['waits', 'HttpError: the client disconnected before the request was authorized']);
  expect(records).toEqual([]);
});

it('lets a write continue that has a record', async () => {
  await disconnect('X-First: require');
  expect(steps).toEqual(['waits', 'writes']);
  expect(records).toMatchObject([{ action: 'A', outcome: 'unknown', status: 499 }]);
});
