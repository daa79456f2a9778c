import type { CauseKind } from '../../resources/health-cause.ts';
import type { CheckResult } from '../run/evaluation.ts';
import type { ClusterSnapshot, Instance, TableSnapshot } from '../snapshot.ts';

/** A server that joined this long ago has loaded its segments. */
export const START_MS = 10 * 60_000;

const DISK_CHECK = 'SERVER_DISK_USAGE_CHECK';

/** What is behind findings: the entity, and what happened to it. */
export interface Faulty {
  readonly kind: CauseKind;
  readonly entityType: string;
  readonly entity: string;
}

/** Segments that have lost a replica, by server and then by name of the table. */
export type LostReplicas = ReadonlyMap<string, ReadonlyMap<string, number>>;

/** Counts the replicas that the external views lack, by the server that should have them. */
export function lostReplicas(tables: readonly TableSnapshot[]): LostReplicas {
  const lost = new Map<string, Map<string, number>>();
  for (const { name, enabled, difference } of tables) {
    if (!enabled || !difference.ok) continue;
    for (const { server, state, segments } of difference.value.replicas) {
      if (state === 'unexpected') continue;
      const ofServer = lost.get(server) ?? new Map<string, number>();
      lost.set(server, ofServer.set(name, (ofServer.get(name) ?? 0) + segments.count));
    }
  }
  return lost;
}

/** The instances that can be behind findings, by id. @param now milliseconds since the epoch */
export function faultyInstances(
  { instances, instanceHealth }: ClusterSnapshot,
  {
    results,
    lost,
    now,
  }: { readonly results: readonly CheckResult[]; readonly lost: LostReplicas; readonly now: number },
): Map<string, Faulty> {
  const full = fullDisks(results);
  const faulty = new Map<string, Faulty>();
  for (const instance of instances.ok ? instances.value : []) {
    const { id, type } = instance;
    const kind = kindOf(instance, {
      isSilent: instanceHealth.get(id)?.healthy === false && instanceHealth.get(id)?.skipped !== true,
      isFull: full.has(id),
      hasLost: lost.has(id),
      now,
    });
    if (kind !== undefined) faulty.set(id, { kind, entityType: type, entity: id });
  }
  return faulty;
}

interface Observed {
  readonly isSilent: boolean;
  readonly isFull: boolean;
  readonly hasLost: boolean;
  readonly now: number;
}

function kindOf(
  { enabled, live, joinedAt }: Instance,
  { isSilent, isFull, hasLost, now }: Observed,
): CauseKind | undefined {
  // What an administrator did explains also that it is down.
  if (!enabled) return 'instance-disabled';
  if (!live) return 'instance-down';
  const isNew = joinedAt !== undefined && Math.abs(now - joinedAt) < START_MS;
  if (isNew && (isSilent || hasLost)) return 'instance-starting';
  if (isSilent) return 'instance-unresponsive';
  return isFull ? 'disk-full' : undefined;
}

function fullDisks(results: readonly CheckResult[]): ReadonlySet<string> {
  const findings = results.find(({ name }) => name === DISK_CHECK)?.outcome.findings ?? [];
  return new Set(findings.filter(({ severity }) => severity === 'critical').map(({ entity }) => entity));
}

/**
 * Tenants that lack a live, enabled instance, by tag. Where such a tenant has several instances, it is behind what they are behind: one
 * cause, not one for each of them. Where it has one, that instance is the cause.
 */
export function emptyTenants(
  { instances }: ClusterSnapshot,
  tables: readonly TableSnapshot[],
  faulty: Map<string, Faulty>,
): Map<string, Faulty> {
  if (!instances.ok) return new Map();
  const tagged = byTag(instances.value);
  const tenants = new Map<string, Faulty>();
  for (const tag of neededTags(tables)) {
    const members = tagged.get(tag) ?? [];
    if (members.some(({ live, enabled }) => live && enabled)) continue;
    const [first] = members;
    const single = members.length === 1 && first !== undefined ? faulty.get(first.id) : undefined;
    const tenant = single ?? tenantOf(tag);
    tenants.set(tag, tenant);
    for (const { id } of members) faulty.set(id, tenant);
  }
  return tenants;
}

function byTag(instances: readonly Instance[]): Map<string, Instance[]> {
  const tagged = new Map<string, Instance[]>();
  for (const instance of instances) {
    for (const tag of instance.tags) {
      const members = tagged.get(tag) ?? [];
      members.push(instance);
      tagged.set(tag, members);
    }
  }
  return tagged;
}

/** The tags of servers and brokers that enabled tables need. */
function neededTags(tables: readonly TableSnapshot[]): ReadonlySet<string> {
  const needed = new Set<string>();
  for (const { enabled, config } of tables) {
    if (!enabled) continue;
    for (const tag of config.serverTags) needed.add(tag);
    needed.add(`${config.brokerTenant}_BROKER`);
  }
  return needed;
}

function tenantOf(tag: string): Faulty {
  if (tag.endsWith('_BROKER')) return { kind: 'tenant-without-brokers', entityType: 'tenant', entity: tag };
  const entity = tag.replace(/_(?:OFFLINE|REALTIME)$/u, '');
  return { kind: 'tenant-without-servers', entityType: 'tenant', entity };
}
