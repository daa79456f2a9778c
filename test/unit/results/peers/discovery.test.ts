import { expect, it } from 'vitest';
import { gatewaysOfList, gatewaysOfService } from '../../../../src/results/peers/discovery.ts';

it('the gateways of a list have the host and the port of each entry', async () => {
  const gateways = gatewaysOfList(['gateway-1.test:8080', '10.0.0.2:81', '[fd00::2]:8443']);
  expect(await gateways()).toEqual([
    { host: 'gateway-1.test', port: 8080 },
    { host: '10.0.0.2', port: 81 },
    { host: 'fd00::2', port: 8443 },
  ]);
  expect(await gatewaysOfList([])()).toEqual([]);
});

it('the gateways of a service are all addresses of its name, with its port', async () => {
  // An address is its own name, without a query.
  expect(await gatewaysOfService('127.0.0.1:8080')()).toEqual([{ host: '127.0.0.1', port: 8080 }]);
  expect(await gatewaysOfService('[::1]:8443')()).toEqual([{ host: '::1', port: 8443 }]);
});
