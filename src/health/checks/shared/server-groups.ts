import type { Instance, TableSnapshot } from '../../snapshot.ts';

/** Ids of servers by group, such as `completed segments`. A server is in one group. */
export type ServerGroups = ReadonlyMap<string, ReadonlySet<string>>;

const COMPLETED = 'completed segments';
const CONSUMING = 'consuming segments';

/**
 * The servers of the tables, in groups whose loads can be compared. A cluster can have separate servers for consuming segments, for
 * completed ones and for each storage tier, and an average over all of them is meaningless. A server with tags of several kinds is in a
 * group with the servers that have the same kinds.
 * @param hosts servers that host segments; one that is disabled or has lost its tag is in a group, too
 */
export function serverGroups(
  tables: readonly TableSnapshot[],
  instances: readonly Instance[],
  hosts: Iterable<string>,
): ServerGroups {
  const kinds = kindsOfTags(tables);
  const hosting = new Set(hosts);
  const groups = new Map<string, Set<string>>();
  const put = (server: string, group: string): void => {
    groups.set(group, (groups.get(group) ?? new Set()).add(server));
  };
  for (const { id, type, enabled, tags } of instances) {
    const own = new Set(tags.flatMap((tag) => kinds.get(tag) ?? []));
    if (type !== 'server' || own.size === 0 || (!enabled && !hosting.has(id))) continue;
    hosting.delete(id);
    put(id, [...own].toSorted().join(' and '));
  }
  for (const server of hosting) put(server, COMPLETED);
  return groups;
}

/** A tag for completed segments is of that kind also if consuming segments or a tier use it. */
function kindsOfTags(tables: readonly TableSnapshot[]): Map<string, string> {
  const kinds = new Map<string, string>();
  for (const { config } of tables) for (const tag of config.tierTags) kinds.set(tag, `the tier tag \`${tag}\``);
  for (const { config } of tables) if (config.consumingTag !== undefined) kinds.set(config.consumingTag, CONSUMING);
  for (const { config } of tables) kinds.set(config.completedTag, COMPLETED);
  return kinds;
}

/** ` for <group>` if there are several groups, for messages. */
export function groupNote(groups: ServerGroups, group: string): string {
  return groups.size > 1 ? ` for ${group}` : '';
}
