import { setTimeout as delay } from 'node:timers/promises';
import { CATALOGUE } from '../../src/health/catalogue.ts';
import type { CheckOutcome, Thresholds } from '../../src/health/check.ts';
import { createGather, type HealthEngine } from '../../src/health/gather/gather.ts';
import { KeptReadings } from '../../src/health/gather/tables/kept-readings.ts';
import { runChecks } from '../../src/health/run/run.ts';
import { resolveSettings } from '../../src/health/settings.ts';
import type { PinotClient } from './pinot.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

type Config = Record<string, Record<string, unknown>>;

/** Readings are kept at once: by this clock, nothing was written less than a minute before. */
const AHEAD = { ...systemClock, now: () => systemClock.now() + 3_600_000 };

export const entities = (outcome: CheckOutcome): string[] => outcome.findings.map(({ entity }) => entity);

/** Brings a real cluster into states and runs the checks on them. */
export class HealthStates {
  /** Names of the checks that were run. */
  readonly tested = new Set<string>();
  readonly #pinot: PinotClient;
  readonly #engine: HealthEngine;
  /** Shared by all runs, so that a fault must be seen, and its repair, by runs that read only what has changed. */
  readonly #kept = new KeptReadings();

  constructor(pinot: PinotClient, engine: HealthEngine) {
    this.#pinot = pinot;
    this.#engine = engine;
  }

  /** The next run reads everything, as one on demand does. */
  readAgain(): void {
    this.#kept.clear();
  }

  async outcomeOf(
    name: string,
    thresholds: Thresholds = {},
    more: { prebuiltSnapshotProperty?: string } = {},
  ): Promise<CheckOutcome> {
    this.tested.add(name);
    const checks = CATALOGUE.filter((check) => check.name === name);
    const settings = resolveSettings({ thresholds: { [name]: thresholds }, ...more });
    const run = await runChecks({
      gather: createGather({ engine: this.#engine, clock: AHEAD, kept: this.#kept, settleMs: 500 }),
      settings: { ...settings, checks },
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
      clock: systemClock,
    });
    const outcome = run.results[0]?.outcome;
    if (outcome === undefined) throw new Error(`there is no check ${name}`);
    return outcome;
  }

  /** Waits until the check fails with this entity. */
  fails(name: string, entity: string, thresholds?: Thresholds): Promise<CheckOutcome> {
    const isRight = (outcome: CheckOutcome) => entities(outcome).includes(entity) && !outcome.couldNotEvaluate;
    return this.#eventually(name, isRight, thresholds);
  }

  passes(name: string, thresholds?: Thresholds): Promise<CheckOutcome> {
    return this.#eventually(name, ({ status }) => status === 'PASS', thresholds);
  }

  async #eventually(
    name: string,
    isRight: (outcome: CheckOutcome) => boolean,
    thresholds: Thresholds | undefined,
  ): Promise<CheckOutcome> {
    const deadline = Date.now() + WAIT_LIMIT_MS;
    for (;;) {
      const outcome = await this.outcomeOf(name, thresholds);
      if (isRight(outcome)) return outcome;
      if (Date.now() > deadline) throw new Error(`${name} still says ${JSON.stringify(outcome)}`);
      await delay(500);
    }
  }

  /** Sends a request to the controller. @throws {Error} a status other than success */
  async api(method: string, path: string, body?: unknown): Promise<Record<string, unknown>> {
    const answer = await fetch(this.#pinot.controllerUrl + path, {
      method,
      headers: { accept: 'application/json', ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      signal: AbortSignal.timeout(WAIT_LIMIT_MS),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return JSON.parse(text) as Record<string, unknown>;
  }

  async changeTable(table: string, type: string, change: (config: Config) => void): Promise<void> {
    const config = (await this.api('GET', `/tables/${table}?type=${type}`))[type] as Config;
    change(config);
    await this.api('PUT', `/tables/${table}`, config);
  }

  /** An offline table with an id, a time in seconds and one replica. */
  async smallTable(name: string, segmentsConfig: object = {}, granularity = '1:SECONDS'): Promise<void> {
    await this.#pinot.createTable(smallSchema(name, granularity), {
      tableName: name,
      tableType: 'OFFLINE',
      segmentsConfig: {
        schemaName: name,
        timeColumnName: 'ts',
        replication: '1',
        segmentPushType: 'APPEND',
        retentionTimeUnit: 'DAYS',
        retentionTimeValue: '36500',
        ...segmentsConfig,
      },
      tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
      tableIndexConfig: { loadMode: 'MMAP' },
      metadata: {},
    });
  }

  /** A realtime table with a primary key, a time in seconds and one replica, from the topic of its name. @param more parts of the configuration */
  async streamTable(
    name: string,
    kafka: string,
    more: { upsert?: boolean; rowsPerSegment?: number } = {},
  ): Promise<void> {
    const plugin = 'org.apache.pinot.plugin.stream';
    await this.#pinot.createTable(
      {
        schemaName: name,
        dimensionFieldSpecs: [{ name: 'pk', dataType: 'STRING' }],
        ...(more.upsert === true ? { primaryKeyColumns: ['pk'] } : {}),
        dateTimeFieldSpecs: [{ name: 'ts', dataType: 'LONG', format: '1:SECONDS:EPOCH', granularity: '1:SECONDS' }],
      },
      {
        tableName: name,
        tableType: 'REALTIME',
        segmentsConfig: { schemaName: name, timeColumnName: 'ts', replication: '1', replicasPerPartition: '1' },
        tenants: { broker: 'DefaultTenant', server: 'DefaultTenant' },
        ...(more.upsert === true
          ? { routing: { instanceSelectorType: 'strictReplicaGroup' }, upsertConfig: { mode: 'FULL' } }
          : {}),
        tableIndexConfig: {
          loadMode: 'MMAP',
          streamConfigs: {
            streamType: 'kafka',
            'stream.kafka.topic.name': name,
            'stream.kafka.broker.list': kafka,
            'stream.kafka.consumer.type': 'lowlevel',
            'stream.kafka.consumer.prop.auto.offset.reset': 'smallest',
            'stream.kafka.consumer.factory.class.name': `${plugin}.kafka20.KafkaConsumerFactory`,
            'stream.kafka.decoder.class.name': `${plugin}.kafka.KafkaJSONMessageDecoder`,
            ...(more.rowsPerSegment === undefined
              ? {}
              : { 'realtime.segment.flush.threshold.rows': String(more.rowsPerSegment) }),
          },
        },
        metadata: {},
      },
    );
  }

  /** Servers by segment in the ideal state. */
  async placement(table: string): Promise<Record<string, string[]>> {
    const ideal = await this.api('GET', `/tables/${table}/idealstate`);
    const segments = (ideal.OFFLINE ?? ideal.REALTIME ?? {}) as Record<string, Record<string, string>>;
    return Object.fromEntries(Object.entries(segments).map(([name, states]) => [name, Object.keys(states)]));
  }

  /** The server of one of the table's segments. */
  async serverOf(table: string): Promise<string> {
    return Object.values(await this.placement(table))[0]?.[0] ?? '';
  }
}

export function smallSchema(name: string, granularity: string): Readonly<Record<string, unknown>> {
  return {
    schemaName: name,
    dimensionFieldSpecs: [{ name: 'id', dataType: 'STRING' }],
    dateTimeFieldSpecs: [{ name: 'ts', dataType: 'LONG', format: '1:SECONDS:EPOCH', granularity }],
  };
}
