import { sleep, type Clock } from '../../../platform/clock.ts';
import { readHung, type FailedRead, type Instance, type InstanceHealth, type Read } from '../../snapshot.ts';
import type { ClusterCalls } from './cluster.ts';
import { FairQueue } from '../../../platform/fair-queue.ts';

const CALLS_AT_ONCE = 32;
/** Maximum time for which tables wait for the list of instances. */
const MAX_WAIT_MS = 5_000;

export interface InstanceHealthOptions {
  readonly calls: ClusterCalls;
  readonly clock: Pick<Clock, 'schedule'>;
  readonly scheme: 'http' | 'https';
  /** False if no check of the run needs the health of instances. */
  readonly needed: boolean;
  /** Aborts when the run ends. */
  readonly signal: AbortSignal;
  readonly progress: (done: number, more?: number) => void;
}

/** Requests `/health` of the enabled servers and brokers, and remembers which servers hang. */
export class InstanceHealthReader {
  readonly #options: InstanceHealthOptions;
  readonly #calls = new Map<string, Promise<InstanceHealth | undefined>>();
  readonly #servers: Promise<InstanceHealth | undefined>[] = [];
  readonly #listed = Promise.withResolvers<void>();
  readonly #ready: Promise<unknown>;

  constructor(options: InstanceHealthOptions) {
    this.#options = options;
    const late = sleep(options.clock, MAX_WAIT_MS, options.signal).catch(() => undefined);
    this.#ready = Promise.race([this.#listed.promise, late]);
  }

  /** @returns the health by instance; without instances whose configuration has no address for it */
  async read(instances: Read<readonly Instance[]>): Promise<Map<string, InstanceHealth>> {
    const { needed, calls, scheme, progress } = this.#options;
    const health = new Map<string, InstanceHealth>();
    const queue = FairQueue.ofJobs('instance health', CALLS_AT_ONCE);
    const called = instances.ok && needed ? instances.value.filter(hasHealth) : [];
    progress(0, called.length);
    for (const instance of called) {
      const call = queue.run(() => calls.health(instance, scheme));
      this.#calls.set(instance.id, call);
      if (instance.type === 'server') this.#servers.push(call);
    }
    this.#listed.resolve();
    for (const [id, call] of this.#calls) {
      const response = await call;
      if (response !== undefined) health.set(id, response);
      progress(1);
    }
    return health;
  }

  /**
   * Why the servers of a table get no further calls in this run: one of them hangs, so each such call would take its whole
   * time-out. Undefined if none hangs, or if all servers do: then the network between this process and the servers blocks `/health`,
   * and the controller may still reach them.
   */
  async hanging(servers: readonly string[]): Promise<FailedRead | undefined> {
    await this.#ready;
    const responses = await Promise.all(servers.map(async (id) => ({ id, health: await this.#calls.get(id) })));
    const hanging = responses.find(({ health }) => health?.hangs === true);
    if (hanging === undefined) return undefined;
    const all = await Promise.all(this.#servers);
    if (all.every((health) => health === undefined || health.hangs === true || health.skipped === true))
      return undefined;
    return readHung(`not read, because the server \`${hanging.id}\` hangs: ${hanging.health?.detail}`);
  }
}

function hasHealth({ type, enabled }: Instance): boolean {
  return enabled && (type === 'server' || type === 'broker');
}
