import type { TableEntry } from '../configs.ts';
import { childrenStamp, contentStamp, type NodeStat, type NodeStats } from './node-stats.ts';

/** The lists of nodes from which the stamps of a run are computed. */
export interface StatLists {
  /** Children of the cluster's root node. */
  readonly root: NodeStats;
  readonly idealStates: NodeStats;
  readonly externalViews: NodeStats;
  readonly tableConfigs: NodeStats;
  readonly schemas: NodeStats;
  /** The parents of the segments' metadata, by table. */
  readonly segments: NodeStats;
  readonly instances: NodeStats;
  readonly liveInstances: NodeStats;
  readonly instancePartitions: NodeStats;
  readonly clusterConfigs: NodeStats;
}

/** Parts of a table that are kept between runs. All of them depend on the ideal state. */
export const KEPT_PARTS = [
  'assignment',
  'externalView',
  'segmentMetadata',
  'files',
  'size',
  'reload',
  'rebalance',
] as const;
export type KeptPart = (typeof KEPT_PARTS)[number];

/** Limits that are applied while a part is read. */
export interface StampLimits {
  readonly smallSegmentBytes: number;
  readonly smallSegmentFraction: number;
}

/**
 * A node that was written more recently is not relied on: another controller may still respond with its older content, and servers
 * may not have followed it yet.
 */
const SETTLED_MS = 60_000;

const ROOT_NODES = ['IDEALSTATES', 'EXTERNALVIEW', 'CONFIGS', 'PROPERTYSTORE', 'LIVEINSTANCES'] as const;

/**
 * The state of the nodes in ZooKeeper at the start of a run. A part of a table that was read under the same stamps in an earlier run is
 * unchanged, as far as ZooKeeper knows of its changes.
 */
export class ClusterStamps {
  /** Differs between two clusters, also if they have the same name and the same tables. */
  readonly identity: string;
  /** The last transaction that the nodes know. It never decreases, unless ZooKeeper was restored from a backup. */
  readonly lastTransaction: number;
  readonly #lists: StatLists;
  readonly #now: number;
  readonly #limits: StampLimits;
  readonly #serverConfigs: string | undefined;
  readonly #partitions: string | undefined;
  readonly #clusterConfig: string | undefined;

  /**
   * @param now when the lists were requested, milliseconds since the epoch
   * @throws lists that do not show which cluster this is: nothing can be concluded from them
   */
  constructor(lists: StatLists, cluster: string, now: number, limits: StampLimits) {
    this.#lists = lists;
    this.#now = now;
    this.#limits = limits;
    const roots = ROOT_NODES.map((name) => {
      const stat = lists.root.get(name);
      if (stat === undefined) throw new Error(`the response has no stat of the node \`${name}\``);
      return `${stat.czxid}.${stat.ctime}`;
    });
    this.identity = [cluster, ...roots].join();
    this.lastTransaction = lastTransaction(lists);
    // Tags, pools and switches of servers decide where a rebalance puts segments.
    this.#serverConfigs = this.#all(lists.instances, (name) => name.startsWith('Server_'));
    this.#partitions = this.#all(lists.instancePartitions);
    this.#clusterConfig = this.#all(lists.clusterConfigs);
  }

  /**
   * The stamp under which a part of a table is read in this run. Equal stamps of two runs mean that the part need not be read again.
   * @param servers the servers of its ideal state
   * @returns undefined if the part must be read again in each run, or if something that it depends on was just changed
   */
  stamp(part: KeptPart, entry: TableEntry, servers: Iterable<string>): string | undefined {
    const lists = this.#lists;
    const { name } = entry;
    const idealState = this.#of(lists.idealStates, name);
    const config = this.#of(lists.tableConfigs, name);
    const view = this.#of(lists.externalViews, name);
    switch (part) {
      case 'assignment':
        return joined(idealState, config);
      case 'externalView':
        return joined(idealState, config, view);
      case 'segmentMetadata':
      case 'files':
        return joined(idealState, config, this.#segments(entry), String(this.#limits.smallSegmentBytes));
      case 'size': {
        const { smallSegmentBytes, smallSegmentFraction } = this.#limits;
        const limits = `${smallSegmentBytes}/${smallSegmentFraction}`;
        return joined(
          idealState,
          config,
          this.#segments(entry),
          view,
          this.#schema(entry),
          this.#live(servers),
          limits,
        );
      }
      case 'reload':
        return joined(idealState, config, view, this.#schema(entry), this.#live(servers), this.#clusterConfig);
      case 'rebalance':
        // Segments move to another storage tier by their age alone.
        if (entry.config.tierTags.length > 0) return undefined;
        return joined(idealState, config, this.#serverConfigs, this.#partitions, this.#clusterConfig);
    }
  }

  /** Each push to a REFRESH table replaces segments under the same names, which is not visible in any listed node. */
  #segments({ name, config }: TableEntry): string | undefined {
    const stat = this.#lists.segments.get(name);
    return stat === undefined || config.isRefresh ? undefined : childrenStamp(stat);
  }

  /** An engine with several names for a table's schema has at least one of them. */
  #schema({ rawName, config }: TableEntry): string | undefined {
    const names = [...new Set([rawName, config.schemaName ?? rawName])];
    const known = names.filter((name) => this.#lists.schemas.has(name));
    return known.length === 0 ? undefined : joined(...known.map((name) => this.#of(this.#lists.schemas, name)));
  }

  /** The sessions of servers: a restart changes them. @returns undefined if one of them is down */
  #live(servers: Iterable<string>): string | undefined {
    return joined(...[...servers].toSorted().map((server) => this.#of(this.#lists.liveInstances, server)));
  }

  #all(stats: NodeStats, chosen: (name: string) => boolean = () => true): string | undefined {
    const names = [...stats.keys()].filter(chosen).toSorted();
    return joined('', ...names.flatMap((name) => [name, this.#of(stats, name)]));
  }

  #of(stats: NodeStats, name: string): string | undefined {
    const stat = stats.get(name);
    return stat === undefined || !this.#settled(stat) ? undefined : contentStamp(stat);
  }

  #settled({ mtime }: NodeStat): boolean {
    return mtime <= this.#now - SETTLED_MS;
  }
}

function joined(...stamps: readonly (string | undefined)[]): string | undefined {
  return stamps.includes(undefined) ? undefined : stamps.join('|');
}

/** Deleting a node is a transaction of its parent, so this does not decrease when the latest node is deleted. */
function lastTransaction({ root, idealStates, externalViews, liveInstances }: StatLists): number {
  let last = 0;
  for (const stats of [root, idealStates, externalViews, liveInstances]) {
    for (const { czxid, mzxid, pzxid } of stats.values()) last = Math.max(last, czxid, mzxid, pzxid);
  }
  return last;
}
