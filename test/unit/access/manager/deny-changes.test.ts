import { expect, it } from 'vitest';
import { deniesOfAttachment } from '../../../../src/access/manager/deny-changes.ts';
import { role } from '../../../builders/resources.ts';

const state = (policies: string[]) => ({
  policies: [],
  roles: [role('r', { policies }), role('other', { policies: ['p', 'q'] })],
  assignments: [],
});

it('an attachment is applied and reverted in its role only, whatever others attached meanwhile', () => {
  const { apply, revert } = deniesOfAttachment('r', 'p');
  expect(apply(state(['a', 'b']))).toEqual(state(['a', 'b', 'p']));
  expect(apply(state(['a', 'p', 'b']))).toEqual(state(['a', 'b', 'p']));
  expect(revert(state(['a', 'p', 'b']))).toEqual(state(['a', 'b']));
  expect(revert(state(['a', 'b']))).toEqual(state(['a', 'b']));
});
