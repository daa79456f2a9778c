import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { curlLines, welcome } from '../../../tools/dev/welcome.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';
import { once } from '../../support/once.ts';
import { execute } from '../../support/execute.ts';

interface Seen {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly authorization: string | undefined;
  readonly body: string;
}

describe('the lines that `make run` prints', () => {
  let folder: string;
  let url: string;
  const seen: Seen[] = [];
  const server = createServer((request: IncomingMessage, response) => {
    void text(request).then((body) => {
      const { method, url, headers } = request;
      seen.push({ method, url, authorization: headers.authorization, body });
      response.end('{"resultTable":{"rows":[["a \\"requestId\\" of no one"]]},"requestId":"r-1","numRows":5}');
    });
  });

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "with a blank and a ' "));
    await writeFile(join(folder, 'admin-token'), 'svc-abc-def\n');
    await once(server.listen(0, '127.0.0.1'), 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(async () => {
    server.close();
    await rm(folder, { recursive: true });
  });

  async function paste(index: number): Promise<void> {
    const table = { name: 'orders', orderBy: 'orderId' };
    const tokenFile = join(folder, 'admin-token');
    const lines = curlLines({
      url,
      metricsUrl: url,
      tokenFile,
      logFile: 'x.log',
      controllerUrl: url,
      table,
      sample: true,
    });
    await execute('sh', ['-c', lines[index] ?? ''], { timeout: WAIT_LIMIT_MS });
  }

  it('create a role', async () => {
    await paste(0);
    expect(seen.splice(0)).toEqual([
      {
        method: 'POST',
        url: '/api/v1/rbac-manager/roles',
        authorization: 'Bearer svc-abc-def',
        body: expect.stringMatching(/^\{"name":"team-\d+","description":"my first role"\}$/) as string,
      },
    ]);
  });

  it('read the health report', async () => {
    await paste(1);
    const authorization = 'Bearer svc-abc-def';
    expect(seen.splice(0)).toEqual([{ method: 'GET', url: '/clusterHealth', authorization, body: '' }]);
  });

  it('submit a query and read its second page by the returned id', async () => {
    await paste(2);
    expect(seen.splice(0)).toMatchObject([
      {
        method: 'POST',
        url: '/query/sql?doPaginate=true&numRows=5',
        body: '{"sql":"SELECT * FROM orders ORDER BY orderId LIMIT 1000"}',
      },
      { method: 'GET', url: '/query/r-1/results?offset=5&numRows=5', body: '' },
    ]);
  });

  it('omit the query if the cluster has no table', () => {
    const text = welcome({
      url,
      metricsUrl: url,
      tokenFile: 'x',
      logFile: 'x.log',
      controllerUrl: url,
      table: undefined,
      sample: false,
    });
    expect(text).toContain('/clusterHealth');
    expect(text).not.toContain('Page through');
  });
});
