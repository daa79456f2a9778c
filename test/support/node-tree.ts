/** Of a node, as `/zk/lsl` returns it. */
export interface SimulatedStat {
  czxid: number;
  mzxid: number;
  pzxid: number;
  ctime: number;
  mtime: number;
  version: number;
  cversion: number;
  dataLength: number;
}

/** As `/zk/lsl` lists the nodes. */
export function nodeStats(names: readonly string[], dataLength = 100): Record<string, SimulatedStat> {
  const stat = { czxid: 7, mzxid: 7, pzxid: 7, ctime: 1, mtime: 1, version: 0, cversion: 0, dataLength };
  return Object.fromEntries(names.map((name) => [name, { ...stat }]));
}

/** The stats of a tree of nodes, which change as those of ZooKeeper do. The path of the root is empty. */
export class NodeTree {
  readonly #stats = new Map<string, SimulatedStat>();
  #zxid = 100;
  /** By the clock of ZooKeeper; milliseconds. */
  #time: number;

  constructor(createdAt: number) {
    this.#time = createdAt;
  }

  /** Creates a node, or writes its content. */
  write(node: string): void {
    this.#next();
    const stat = this.#stats.get(node);
    if (stat !== undefined) {
      Object.assign(stat, { mzxid: this.#zxid, mtime: this.#time, version: stat.version + 1 });
      return;
    }
    const [zxid, time] = [this.#zxid, this.#time];
    const counts = { version: 0, cversion: 0, dataLength: 100 };
    this.#stats.set(node, { czxid: zxid, mzxid: zxid, pzxid: zxid, ctime: time, mtime: time, ...counts });
    this.#childChanged(node);
  }

  remove(node: string): void {
    this.#next();
    for (const path of this.#stats.keys()) {
      if (path === node || path.startsWith(`${node}/`)) this.#stats.delete(path);
    }
    this.#childChanged(node);
  }

  /** The stats of the children of a node by name; undefined if there is no such node. */
  children(node: string): Record<string, SimulatedStat> | undefined {
    if (!this.#stats.has(node)) return undefined;
    const children = [...this.#stats].filter(([path]) => path !== '' && parentOf(path) === node);
    return Object.fromEntries(children.map(([path, stat]) => [path.slice(node.length + 1), stat]));
  }

  /** @returns restores the nodes as they are now, as from a backup */
  backup(): () => void {
    const [zxid, time] = [this.#zxid, this.#time];
    const stats = [...this.#stats].map(([path, stat]) => [path, { ...stat }] as const);
    return () => {
      this.#stats.clear();
      for (const [path, stat] of stats) this.#stats.set(path, { ...stat });
      this.#zxid = zxid;
      this.#time = time;
    };
  }

  /** Steps the clock of ZooKeeper. */
  stepClock(ms: number): void {
    this.#time += ms;
  }

  #next(): void {
    this.#zxid += 1;
    this.#time += 1_000;
  }

  #childChanged(node: string): void {
    const parent = node === '' ? undefined : this.#stats.get(parentOf(node));
    if (parent === undefined) return;
    parent.pzxid = this.#zxid;
    parent.cversion += 1;
  }
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf('/'));
}
