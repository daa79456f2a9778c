import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Pinot, type PinotClient, sharedPinot, startPinot } from '../../support/pinot.ts';

describe('the shared Pinot', () => {
  let pinot: PinotClient;
  beforeAll(async () => {
    pinot = await sharedPinot();
  });

  it('returns the sample tables with every digit of a LONG and every spelling', async () => {
    const orders = await pinot.query('SELECT orderId FROM orders ORDER BY orderId LIMIT 2');
    expect(orders).toContain('"rows":[[9007199254740993],[9007199254740994]]');
    expect(await pinot.query('SELECT COUNT(*) FROM orders', pinot.brokerUrls[1])).toContain('"rows":[[1000000]]');
    const types = await pinot.query('SELECT aLong, aDouble, aDecimal FROM types ORDER BY id LIMIT 1');
    // Newer versions write a BIG_DECIMAL as a string.
    expect(types).toMatch(/\[\[9223372036854775807,"NaN",("?)123456789012345678901234567890\.123456789\1\]\]/);
  });
});

describe('a separate Pinot', () => {
  let pinot: Pinot;
  beforeAll(async () => {
    pinot = await startPinot({ servers: 2, properties: { controller: { 'controller.replication.threshold': '1' } } });
  });
  afterAll(() => pinot.stop());

  it('can stop and restart a server', async () => {
    const health = () => fetch(`${pinot.serverAdminUrls[1]}/health`).then((answer) => answer.status);
    expect(await health()).toBe(200);
    await pinot.stopServer(1);
    await expect(health()).rejects.toThrow('fetch failed');
    await expect(pinot.stopServer(1)).rejects.toThrow('it is stopped already');
    await pinot.startServer(1);
    expect(await health()).toBe(200);
  });

  it('can stop and restart a broker', async () => {
    await pinot.stopBroker(0);
    await expect(fetch(`${pinot.brokerUrl}/health`)).rejects.toThrow('fetch failed');
    await pinot.startBroker(0);
    expect((await fetch(`${pinot.brokerUrl}/health`)).status).toBe(200);
  });

  it('accepts a table and rows', async () => {
    const schema = { schemaName: 'small', dimensionFieldSpecs: [{ name: 'id', dataType: 'LONG' }] };
    const config = {
      tableName: 'small',
      tableType: 'OFFLINE',
      segmentsConfig: { schemaName: 'small', replication: '1', segmentPushType: 'REFRESH' },
      tenants: {},
      tableIndexConfig: {},
      metadata: {},
      ingestionConfig: {
        batchIngestionConfig: { segmentIngestionType: 'REFRESH', segmentIngestionFrequency: 'DAILY' },
      },
    };
    await pinot.createTable(schema, config);
    await pinot.uploadRows('small', ['{"id":9007199254740993}', '{"id":2}']);
    await pinot.awaitRows('small', 2);
    expect(await pinot.query('SELECT id FROM small ORDER BY id')).toContain('[[2],[9007199254740993]]');
    await pinot.deleteTable('small');
  });

  it('consumes a Kafka topic into a realtime table', async () => {
    const kafka = await pinot.startKafka();
    await pinot.createTopic('events', 2);
    await pinot.produce('events', [
      ['a', '{"id":"a","at":1760000000000}'],
      ['b', '{"id":"b","at":1760000000001}'],
    ]);
    const schema = {
      schemaName: 'events',
      dimensionFieldSpecs: [{ name: 'id', dataType: 'STRING' }],
      dateTimeFieldSpecs: [
        { name: 'at', dataType: 'LONG', format: '1:MILLISECONDS:EPOCH', granularity: '1:MILLISECONDS' },
      ],
    };
    await pinot.createTable(schema, realtimeTable('events', kafka));
    await pinot.awaitRows('events', 2);
    expect(await pinot.query('SELECT id FROM events ORDER BY id')).toContain('[["a"],["b"]]');
  });

  it('reports errors of Kafka', async () => {
    await expect(pinot.createTopic('events', 2)).rejects.toThrow('already exists');
  });
});

function realtimeTable(name: string, kafka: string): Record<string, unknown> {
  return {
    tableName: name,
    tableType: 'REALTIME',
    segmentsConfig: { schemaName: name, timeColumnName: 'at', replication: '1', replicasPerPartition: '1' },
    tenants: {},
    tableIndexConfig: {
      loadMode: 'MMAP',
      streamConfigs: {
        streamType: 'kafka',
        'stream.kafka.topic.name': name,
        'stream.kafka.broker.list': kafka,
        'stream.kafka.consumer.type': 'lowlevel',
        'stream.kafka.consumer.prop.auto.offset.reset': 'smallest',
        'stream.kafka.consumer.factory.class.name': 'org.apache.pinot.plugin.stream.kafka20.KafkaConsumerFactory',
        'stream.kafka.decoder.class.name': 'org.apache.pinot.plugin.stream.kafka.KafkaJSONMessageDecoder',
      },
    },
    metadata: {},
  };
}
