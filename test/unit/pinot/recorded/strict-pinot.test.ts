import { afterEach, beforeEach, expect, it } from 'vitest';
import { StrictPinot } from '../../../support/strict-pinot.ts';

let pinot: StrictPinot;
beforeEach(async () => {
  pinot = await StrictPinot.start('controller');
});
afterEach(() => pinot.close());

const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  fetch(pinot.controllerUrl + path, { method, headers }).then(({ status }) => status);

it('answers what was recorded', async () => {
  expect(await ask('/tables/customers/schema')).toBe(200);
  expect(pinot.unknown).toEqual([]);
});

it.each<[difference: string, path: string, headers?: Record<string, string>, method?: string]>([
  ['path', '/tables/nosuch'],
  ['parameter', '/tables/customers?type=OFFLINE&x=1'],
  ['database', '/tables/customers/schema', { database: 'sales' }],
  ['header', '/tables/customers/schema', { authorization: 'Bearer x' }],
  ['method', '/tables/customers/schema', {}, 'POST'],
])('remembers a request with another %s, and answers 501', async (_, path, headers, method) => {
  expect(await ask(path, headers, method)).toBe(501);
  expect(pinot.unknown).toEqual([expect.stringContaining(path)]);
});
