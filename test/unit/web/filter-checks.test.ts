import { describe, expect, it } from 'vitest';
import type { CheckEntry, Finding } from '../../../web/src/lib/types.ts';
import {
  checksAbout,
  entitiesOf,
  filterChecks,
  filterFor,
  type Filters,
} from '../../../web/src/pages/health/filter-checks.ts';

const ANY: Filters = { status: '', table: '', instance: '', text: '' };

function check(name: string, status: 'PASS' | 'FAIL', findings: Finding[] = []): CheckEntry {
  const message = `${name} in a sentence`;
  return {
    name,
    title: name,
    origin: 'specification',
    category: 'tables',
    severity: 'warning',
    status,
    message,
    findings,
    findingCount: findings.length,
    remediation: '',
    durationMs: 0,
  };
}

const ORDERS = { entityType: 'table', entity: 'orders_OFFLINE', message: 'is large' };
const SEGMENT = { entityType: 'segment', entity: 'events__0__1', message: 'is in error' };
const SERVER = { entityType: 'server', entity: 'Server_a_8098', message: 'is down' };
const CHECKS = [
  check('A', 'PASS'),
  check('B', 'FAIL', [ORDERS, SERVER]),
  check('C', 'PASS', [SEGMENT]),
  check('D', 'FAIL', [SEGMENT]),
];

const names = (filters: Partial<Filters>): string[] =>
  filterChecks(CHECKS, { ...ANY, ...filters }).map(({ name }) => name);

describe('the filters of the health page', () => {
  it('select by state and keep the order', () => {
    expect(names({})).toEqual(['A', 'B', 'C', 'D']);
    expect(names({ status: 'PASS' })).toEqual(['A', 'C']);
    expect(names({ status: 'FAIL' })).toEqual(['B', 'D']);
    expect(names({ status: 'UNREAD' })).toEqual([]);
  });

  it('put muted findings last', () => {
    const muted = { ...ORDERS, mutedBy: 'mute-1' };
    const [only] = filterChecks([check('E', 'FAIL', [muted, SERVER, ORDERS])], ANY);
    expect(only?.findings).toEqual([SERVER, ORDERS, muted]);
  });

  it('lead from a finding to all findings of its table or instance', () => {
    expect(filterFor(ORDERS)).toEqual({ table: 'orders', instance: '', status: '', text: '' });
    expect(filterFor(SERVER)).toEqual({ instance: 'Server_a_8098', table: '', status: '', text: '' });
    expect(filterFor({ ...ORDERS, entityType: 'cluster' })).toBeUndefined();
    expect(entitiesOf(CHECKS)).toEqual({ tables: ['orders'], instances: ['Server_a_8098'] });
  });

  it('keep only the findings of the table or the instance', () => {
    const [found, ...others] = filterChecks(CHECKS, { ...ANY, table: 'ORDERS' });
    expect([found?.name, found?.findings, others]).toEqual(['B', [ORDERS], []]);
    expect(filterChecks(CHECKS, { ...ANY, instance: 'server_a' }).map(({ findings }) => findings)).toEqual([[SERVER]]);
    expect(names({ table: 'events' })).toEqual(['C', 'D']);
    expect(names({ table: 'server' })).toEqual([]);
  });

  it('search names, messages and findings', () => {
    expect(names({ text: 'is down' })).toEqual(['B']);
    expect(names({ text: 'a in a sentence' })).toEqual(['A']);
    expect(names({ text: 'events', status: 'PASS' })).toEqual(['C']);
  });
});

describe('a finding that names an instance in its message', () => {
  const message = 'the replica on Server_b-1.pinot_8098 is in error, of Broker_c_8099.';
  const checks = [check('E', 'FAIL', [{ entityType: 'segment', entity: 'events__0__1', message }])];

  it('is found by the filter for the instance, which proposes it', () => {
    expect(filterChecks(checks, { ...ANY, instance: 'server_B-1' }).map(({ name }) => name)).toEqual(['E']);
    expect(filterChecks(checks, { ...ANY, instance: 'Server_a' })).toEqual([]);
    expect(entitiesOf(checks).instances).toEqual(['Broker_c_8099', 'Server_b-1.pinot_8098']);
  });
});

describe('the findings of one entity', () => {
  const findings = [
    { entityType: 'table', entity: 'orders_OFFLINE', message: 'is large' },
    { entityType: 'table', entity: 'orders2_OFFLINE', message: 'is large' },
    { entityType: 'segment', entity: 'orders_OFFLINE_0', message: 'is in error on Server_a_8098' },
    { entityType: 'cluster', entity: 'pinot', message: 'the table `orders` has no servers' },
    { entityType: 'server', entity: 'Server_a_80981', message: 'is down' },
  ];
  const about = (kind: 'table' | 'instance', name: string): (readonly string[])[] =>
    checksAbout([check('E', 'FAIL', findings), check('F', 'FAIL', [])], { kind, name }).map(({ findings: found }) =>
      found.map(({ entity }) => entity),
    );

  it('are those that are about it or name it, and not those of a longer name', () => {
    expect(about('table', 'orders')).toEqual([['orders_OFFLINE', 'orders_OFFLINE_0', 'pinot']]);
    expect(about('instance', 'Server_a_8098')).toEqual([['orders_OFFLINE_0']]);
    expect(about('instance', 'Server_b')).toEqual([]);
  });
});
