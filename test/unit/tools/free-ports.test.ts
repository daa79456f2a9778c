import { type AddressInfo, createServer } from 'node:net';
import { expect, it } from 'vitest';
import { freePorts } from '../../support/kubernetes/processes.ts';
import { once } from '../../support/once.ts';

it('free ports differ, and none of them is given to an outgoing connection', async () => {
  const server = createServer();
  await once(server.listen(0, '127.0.0.1'), 'listening');
  // Systems give ports of the same range to outgoing connections and to servers without a port of their own.
  const { port } = server.address() as AddressInfo;
  await once(server.close(), 'close');
  const ports = (await Promise.all(Array.from({ length: 10 }, () => freePorts(5)))).flat();
  expect(new Set(ports).size).toBe(50);
  expect(port).toBeGreaterThan(30_000);
  expect(Math.max(...ports)).toBeLessThan(30_000);
});
