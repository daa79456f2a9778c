import { expect, it } from 'vitest';
import {
  ACTIONS_BY_KIND,
  kindBit,
  kindsOfActions,
  rareKindsOfActions,
} from '../../../../src/access/policy/action-kinds.ts';
import { ACTIONS } from '../../../../src/access/policy/actions.ts';
import { ANY_ACTION } from '../../../../src/pinot/action-names.ts';
import { DELETING_ACTIONS, engineCall } from '../../../../src/pinot/call-actions.ts';
import { ON_CLUSTER, ON_CLUSTER_AND_TABLE, ON_TABLE, ON_TABLE_OF_BODY } from '../../../../src/pinot/call-list.ts';

it('every action exists on a kind, and every action of a kind is known', () => {
  const known = new Set<string>(ACTIONS);
  expect(ACTIONS.filter((action) => kindsOfActions(action) === 0)).toEqual([]);
  expect(
    Object.values(ACTIONS_BY_KIND)
      .flat()
      .filter((action) => !known.has(action)),
  ).toEqual([]);
});

it('the table has what every call of the engine asks for, on the cluster and on tables', () => {
  const calls = [ON_CLUSTER, ON_CLUSTER_AND_TABLE, ON_TABLE, ON_TABLE_OF_BODY].flatMap((text) =>
    text.trim().split('\n'),
  );
  const missing: string[] = [];
  let asked = 0;
  const check = (kind: 'cluster' | 'table', actions: readonly string[], call: string): void => {
    for (const action of actions.filter((name) => name !== ANY_ACTION)) {
      asked++;
      const kinds = kindsOfActions(action) | rareKindsOfActions(action, 'allow');
      if ((kinds & kindBit(kind)) === 0) missing.push(`${action} on ${kind}: ${call}`);
    }
  };
  for (const line of calls) {
    const [method = '', target = ''] = line.trim().split(/ +/);
    const segments = target
      .split('?')[0]!
      .split('/')
      .slice(1)
      .map((part) => part.replace(/^(?:\{.*\}|\*)$/, 'x'));
    // Once with every parameter, once without any: a call that does not name its table asks on the cluster.
    for (const value of ['orders', undefined]) {
      const call = engineCall(method, segments, (name) => (name === 'state' ? undefined : value));
      check('cluster', call.onCluster, line);
      check('table', call.onTable, line);
      // A form or a body without a name.
      if (call.body !== 'nothing' && method !== 'GET') check('cluster', call.onTable, line);
    }
    check('table', DELETING_ACTIONS.slice(1), line);
  }
  expect(missing).toEqual([]);
  expect(asked).toBeGreaterThan(400);
});
