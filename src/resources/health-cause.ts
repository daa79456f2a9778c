import { Type, type Static } from 'typebox';
import { MAX_CAUSE_ID, MAX_CHECKS, SEVERITIES } from './health-finding.ts';
import { StringEnum } from './schema.ts';

/** Limit of causes in a report. Each has its own time series and its own alert; the findings of further ones stay on their own. */
export const MAX_CAUSES = 20;

/** What can be behind the findings of several checks. */
export const CAUSE_KINDS = [
  'instance-down',
  'instance-disabled',
  'instance-starting',
  'instance-unresponsive',
  'disk-full',
  'tenant-without-servers',
  'tenant-without-brokers',
  'table-incomplete',
  'table-rebalancing',
  'table-unserved',
  'ingestion-paused',
] as const;
export type CauseKind = (typeof CAUSE_KINDS)[number];

export const Cause = Type.Object(
  {
    id: Type.String({ maxLength: MAX_CAUSE_ID, description: 'Id of the cause, to which findings refer.' }),
    kind: StringEnum([...CAUSE_KINDS], { description: 'What happened to the entity.' }),
    entityType: Type.String({ maxLength: 32, description: 'server, broker, controller, minion, tenant or table.' }),
    entity: Type.String({ maxLength: 512, description: 'Name of the entity behind the findings.' }),
    severity: StringEnum([...SEVERITIES], { description: 'The worst severity of its findings that are not muted.' }),
    since: Type.String({ format: 'date-time', description: 'Start of the first run in a row that found it.' }),
    message: Type.String({ maxLength: 1024, description: 'The cause and its effect in one sentence.' }),
    checks: Type.Array(Type.String({ maxLength: 128 }), {
      maxItems: MAX_CHECKS,
      description: 'Names of the checks with findings of this cause.',
      'x-kubernetes-list-type': 'atomic',
    }),
    findingCount: Type.Integer({ description: 'Number of findings of this cause.' }),
    mutedCount: Type.Optional(
      Type.Integer({ description: 'Number of its findings that are muted; absent without any.' }),
    ),
    tables: Type.Integer({ description: 'Number of tables that it affects.' }),
    segments: Type.Integer({ description: 'Number of segments that have lost a replica by it.' }),
    unserved: Type.Integer({
      description: 'Number of segments of these tables without an online replica: queries do not return their rows.',
    }),
  },
  { description: 'What is behind the findings of one or more checks.' },
);
export type Cause = Static<typeof Cause>;
