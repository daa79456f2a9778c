import { readFailed, readOk, type PolicyConditions } from '../../../../src/health/snapshot.ts';
import { snapshot } from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const policies = (...all: PolicyConditions[]) => snapshot([], { policies: readOk(all) });
const fits: PolicyConditions = { name: 'fits', fault: readOk(undefined) };

cases('POLICY_CONDITIONS_CHECK', [
  { name: 'a policy that fits', snapshot: policies(fits) },
  {
    name: 'one of two with a column that does not exist',
    snapshot: policies(fits, { name: 'gone', fault: readOk('ColumnNotFound') }),
    entities: ['gone'],
    finding: '(ColumnNotFound)',
  },
  {
    name: 'one that could not be compared',
    snapshot: policies(fits, { name: 'unknown', fault: readFailed('no') }),
    entities: ['unknown'],
    couldNotEvaluate: true,
  },
  { name: 'no policy with conditions', snapshot: policies(), message: 'not applicable: no policy' },
  {
    name: 'a run without policies',
    snapshot: snapshot([], { policies: readOk('unavailable') }),
    message: 'not applicable: this run has no access to policies',
  },
  {
    name: 'policies that could not be read',
    snapshot: snapshot([], { policies: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);
