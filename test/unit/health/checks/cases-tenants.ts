import { readFailed, readOk } from '../../../../src/health/snapshot.ts';
import { broker, controller, server, snapshot, table } from '../../../builders/snapshot.ts';
import { cases } from './check-cases.ts';

const withServers = (...servers: readonly ReturnType<typeof server>[]) =>
  snapshot([table('t_OFFLINE'), table('u_OFFLINE')], { instances: readOk(servers) });

cases('TENANT_SERVERS_CHECK', [
  { name: 'a tenant with a server', snapshot: withServers(server('Server_a_8098')) },
  { name: 'no table', snapshot: snapshot([]), message: 'not applicable: the cluster has no enabled table' },
  {
    name: 'a tenant that no server has',
    snapshot: withServers(server('Server_a_8098', { tags: ['Other_OFFLINE'] })),
    entities: ['DefaultTenant_OFFLINE'],
    finding: 'no server has the tag: new segments of 2 tables (`t_OFFLINE`, `u_OFFLINE`) cannot be placed',
    observed: 'no live, enabled server',
  },
  {
    name: 'servers that are down or disabled',
    snapshot: withServers(server('Server_a_8098', { live: false }), server('Server_b_8098', { enabled: false })),
    entities: ['DefaultTenant_OFFLINE'],
    finding: '2 servers have the tag, but none is live and enabled',
  },
  {
    name: 'a storage tier without a server',
    snapshot: snapshot([
      table('t_OFFLINE', {
        config: { serverTags: ['DefaultTenant_OFFLINE', 'Cold_OFFLINE'], tierTags: ['Cold_OFFLINE'] },
      }),
    ]),
    entities: ['Cold_OFFLINE'],
    severities: ['warning'],
    finding: 'cannot move to this storage tier',
  },
  {
    name: 'a disabled table',
    snapshot: snapshot([table('t_OFFLINE', { enabled: false, config: { serverTags: ['Gone_OFFLINE'] } })]),
    message: 'not applicable',
  },
  {
    name: 'instances that could not be read',
    snapshot: snapshot([table('t_OFFLINE')], { instances: readFailed('no') }),
    entities: ['pinot'],
    couldNotEvaluate: true,
  },
]);

const withInstances = (...instances: readonly ReturnType<typeof server>[]) =>
  snapshot([], { instances: readOk(instances) });

cases('INSTANCE_AVAILABILITY_CHECK', [
  { name: 'live instances', snapshot: withInstances(server('Server_a_8098'), broker('Broker_a_8099')) },
  { name: 'no instance', snapshot: withInstances(), message: 'not applicable' },
  {
    name: 'a dead controller beside a live one',
    snapshot: withInstances(controller('Controller_a_9000'), controller('Controller_b_9000', { live: false })),
    entities: ['Controller_b_9000'],
    finding: 'the controller has no session in ZooKeeper',
    observed: 'not live',
  },
  {
    name: 'a dead minion',
    snapshot: withInstances(server('Minion_a_9514', { type: 'minion', live: false })),
    entities: ['Minion_a_9514'],
  },
  {
    name: 'a disabled broker beside another one',
    snapshot: withInstances(broker('Broker_a_8099'), broker('Broker_b_8099', { enabled: false })),
    entities: ['Broker_b_8099'],
    finding: 'the broker is live, but disabled',
    observed: 'disabled',
    threshold: 'enabled',
  },
  {
    name: 'an instance of another kind',
    snapshot: withInstances(server('Other_a_1', { type: 'other', live: false })),
    message: 'not applicable',
  },
]);
