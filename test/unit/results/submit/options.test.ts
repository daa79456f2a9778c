import { expect, it } from 'vitest';
import { holderAddress } from '../../../../src/results/submit/options.ts';
import type { ResultStore } from '../../../../src/results/result-store.ts';

it('only a store of this gateway alone has the address of the gateway', () => {
  const identity = { id: 'gateway-0', host: 'gateway-0.test', port: 8080 };
  expect(holderAddress({ local: false } as ResultStore, identity)()).toBeUndefined();
  expect(holderAddress({ local: true } as ResultStore, identity)()).toEqual({ host: 'gateway-0.test', port: 8080 });
});

it('the address of the gateway is another object only where it has changed', () => {
  const identity = { id: 'gateway-0', host: 'a', port: 0 };
  const holder = holderAddress({ local: true } as ResultStore, identity);
  const first = holder();
  expect(holder()).toBe(first);
  identity.port = 8080;
  const second = holder();
  expect(second).toEqual({ host: 'a', port: 8080 });
  expect(holder()).toBe(second);
  identity.host = 'b';
  expect(holder()).toEqual({ host: 'b', port: 8080 });
});
