import { expect, it } from 'vitest';
import { longestPolicy } from '../../../bench/workloads/stall-requests.ts';
import { parsePolicyDocument } from '../../../src/access/policy/policy-document.ts';

it('has a longest policy that the gateway accepts', () => {
  expect(parsePolicyDocument(JSON.parse(longestPolicy(60)))).toMatchObject({ ok: true });
});
