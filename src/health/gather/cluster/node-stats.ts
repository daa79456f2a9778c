import type { NodeSize } from '../../snapshot.ts';
import { objectOf } from '../json-values.ts';

/** What ZooKeeper knows of a node without its content, as `/zk/lsl` returns it for each child. */
export interface NodeStat {
  /** Transaction that created the node. */
  readonly czxid: number;
  /** Last transaction that wrote its content. */
  readonly mzxid: number;
  /** Last transaction that added or removed a child. */
  readonly pzxid: number;
  /** Creation time, by the clock of ZooKeeper; milliseconds since the epoch. */
  readonly ctime: number;
  /** Time of the last write of its content. */
  readonly mtime: number;
  /** Number of writes of its content. */
  readonly version: number;
  /** Number of changes of its children. */
  readonly cversion: number;
  /** Bytes of its content. */
  readonly dataLength: number;
}

export type NodeStats = ReadonlyMap<string, NodeStat>;

const FIELDS = ['czxid', 'mzxid', 'pzxid', 'ctime', 'mtime', 'version', 'cversion', 'dataLength'] as const;

/** The children of a node by name. A child with an incomplete stat is absent: nothing can be concluded about it. */
export function parseStats(body: unknown): NodeStats {
  const stats = new Map<string, NodeStat>();
  for (const [name, value] of Object.entries(objectOf(body))) {
    const stat = objectOf(value);
    if (FIELDS.every((field) => Number.isSafeInteger(stat[field]))) stats.set(name, stat as unknown as NodeStat);
  }
  return stats;
}

/** The sizes of the children of a node. @throws {Error} a child with an incomplete stat */
export function nodeSizesOf(body: unknown, kind: NodeSize['kind']): NodeSize[] {
  const stats = parseStats(body);
  const without = Object.keys(objectOf(body)).find((name) => !stats.has(name));
  if (without !== undefined) throw new Error(`the list of ${kind}s has no complete stat of \`${without}\``);
  return [...stats].map(([name, { dataLength: bytes }]) => ({ name, kind, bytes }));
}

/**
 * A text that is equal in two reads only if the node was neither written nor replaced between them. The transaction alone does not prove that: transaction
 * numbers are used again after ZooKeeper was restored from a backup, and by another cluster. Version numbers begin again if a node is
 * deleted and created again.
 */
export function contentStamp({ czxid, mzxid, ctime, mtime, version, dataLength }: NodeStat): string {
  return [czxid, mzxid, ctime, mtime, version, dataLength].join('.');
}

/** As `contentStamp`, and equal only if no child was added or removed. Writes of a child's content do not change it. */
export function childrenStamp(stat: NodeStat): string {
  return `${contentStamp(stat)}.${stat.pzxid}.${stat.cversion}`;
}
