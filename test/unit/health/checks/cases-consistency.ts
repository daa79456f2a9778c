import { readFailed, readOk, readReported, type TableSources } from '../../../../src/health/snapshot.ts';
import {
  assignment,
  nameList,
  segmentSummary,
  server,
  snapshot,
  sourcesOf,
  table,
} from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const events = table('events_REALTIME', { assignment: readOk(assignment({ Server_a_8098: 4 })) });
const orders = table('orders_OFFLINE', { assignment: readOk(assignment({ Server_b_8098: 2 })) });
const absent = readReported('the table has no ideal state', 'TABLE_CONSISTENCY_CHECK');

/** A cluster with both tables in all sources, except in those of `changed`. */
const withSources = (changed: Partial<TableSources>, more: Parameters<typeof snapshot>[1] = {}) =>
  snapshot([events, orders], { sources: sourcesOf([events, orders], changed), ...more });
const both = ['events_REALTIME', 'orders_OFFLINE'];

cases('TABLE_CONSISTENCY_CHECK', [
  { name: 'sources that agree', snapshot: withSources({}) },
  { name: 'no table', snapshot: snapshot([]), message: 'not applicable: the cluster has no table' },
  {
    name: 'a table configuration that was removed',
    snapshot: snapshot([events], {
      sources: sourcesOf([events, orders], { configurations: nameList(both.slice(0, 1)) }),
    }),
    entities: ['orders_OFFLINE'],
    finding: 'has ideal state and external view and segment metadata of the table, but no table configuration',
    severities: [undefined],
  },
  {
    name: 'segment metadata of a table that was deleted',
    snapshot: withSources({ segmentMetadata: nameList([...both, 'old_OFFLINE']) }),
    entities: ['old_OFFLINE'],
    severities: ['warning'],
  },
  {
    name: 'a table that only one of two reads has',
    snapshot: withSources({
      idealStates: readOk({ always: new Set(both), ever: new Set([...both, 'new_OFFLINE']) }),
    }),
  },
  {
    name: 'a table configuration that is not valid',
    snapshot: snapshot([events], {
      sources: sourcesOf([events, orders]),
      unreadableTables: new Map([['orders_OFFLINE', 'unexpected token']]),
    }),
    entities: ['orders_OFFLINE'],
    finding: 'its table configuration cannot be read: unexpected token',
  },
  {
    name: 'an ideal state that was removed',
    snapshot: snapshot([table('events_REALTIME', { assignment: absent }), orders], {
      sources: sourcesOf([events, orders], { idealStates: nameList(['orders_OFFLINE']) }),
    }),
    entities: ['events_REALTIME'],
    finding: 'but no ideal state',
    observed: 'no ideal state',
    threshold: 'one ideal state',
  },
  {
    name: 'segment metadata that was removed',
    snapshot: snapshot(
      [events, table('orders_OFFLINE', { assignment: orders.assignment, segments: readFailed('404') })],
      { sources: sourcesOf([events, orders], { segmentMetadata: nameList(['events_REALTIME']) }) },
    ),
    entities: ['orders_OFFLINE'],
    finding: 'its ideal state has 2 segments, but there is no segment metadata',
  },
  {
    name: 'no metadata of a table without segments',
    snapshot: snapshot([table('empty_OFFLINE', { segments: readOk(segmentSummary()) })], {
      sources: sourcesOf([table('empty_OFFLINE')], { segmentMetadata: nameList([]) }),
    }),
  },
  {
    name: 'a schema that was removed',
    snapshot: withSources(
      {},
      { schemas: readOk(new Map([['orders', readOk({ columns: 1, granularities: new Map() })]])) },
    ),
    entities: ['events_REALTIME'],
    finding: 'it has no schema',
  },
  {
    name: 'a schema that is not valid',
    snapshot: withSources(
      {},
      {
        schemas: readOk(
          new Map([
            ['orders', readOk({ columns: 1, granularities: new Map() })],
            ['events', readReported('unexpected end', 'TABLE_CONSISTENCY_CHECK')],
          ]),
        ),
      },
    ),
    entities: ['events_REALTIME'],
    finding: 'its schema cannot be read: unexpected end',
  },
  {
    name: 'a table that only the list of tables has',
    snapshot: withSources({ listed: nameList(['events', 'orders', 'gone']) }),
    entities: ['gone'],
    finding: '`GET /tables` lists the table',
  },
  {
    name: 'a source that could not be read',
    snapshot: withSources({ idealStates: readFailed('404') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
  {
    name: 'a live instance without a configuration',
    snapshot: withSources({}, { unconfiguredInstances: ['Minion_m_9514'] }),
    entities: ['Minion_m_9514'],
    severities: ['warning'],
    finding: 'is live, but has no configuration',
  },
  {
    name: 'segments on a server without a configuration',
    snapshot: withSources({}, { instances: readOk([server('Server_a_8098')]) }),
    entities: ['Server_b_8098'],
    finding: 'the ideal states of 1 table have segments on the server',
  },
]);
