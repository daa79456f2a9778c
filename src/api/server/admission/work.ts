import { type Clock, systemClock } from '../../../platform/clock.ts';
import { FairQueue, type Place, type QueueObserver } from '../../../platform/fair-queue.ts';
import { longWork, type LongWork, type Slices, type Turn } from '../../../platform/long-work.ts';
import { HttpError } from '../errors.ts';
import { admit } from './admit.ts';

/** Shorter bodies are parsed and judged in a millisecond or two. */
const LONG_BYTES = 8 * 1024;
/** What is parsed is many times larger than the body, so one body is worked on at a time. Bodies that wait are in memory, at most 1 MiB each. */
const BODIES = { total: 1, maxWaiting: 128, maxWaitingOfKey: 64, maxWaitMs: 10_000 } as const;
/** A list holds its entries until they are sent. One caller has one at a time, and the others have room beside it. */
const LISTS = { total: 4, perKey: 1, maxWaiting: 512, maxWaitingOfKey: 64, maxWaitMs: 30_000 } as const;

export interface WorkOptions {
  readonly clock?: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly observer?: QueueObserver | undefined;
  /** The one of the process by default. */
  readonly slices?: LongWork;
}

/** Decides when the long work of requests begins: for large bodies, lists and reviews. All of it is done in slices (`LongWork`). */
export class RequestWork {
  /** For metrics. */
  readonly queues: readonly [bodies: FairQueue, lists: FairQueue];
  readonly #slices: LongWork;

  constructor({ clock = systemClock, observer, slices = longWork }: WorkOptions = {}) {
    this.queues = [
      new FairQueue({ name: 'long-work', ...BODIES }, clock, observer),
      new FairQueue({ name: 'lists', ...LISTS }, clock, observer),
    ];
    this.#slices = slices;
  }

  /**
   * The turns of the work for one body: nothing waits for them where the body is short. The first one waits until the work for other bodies is done, or
   * waits for something else than its next turn.
   * @param caller SRN, or the address where there is no caller
   * @param bytes of the body
   * @param isOpen whether the client still waits
   * The promise of a turn rejects with {HttpError} 429 or 503 where too many bodies wait, 503 after ten seconds, 400 for a client that has left
   */
  bodyTurns(caller: string, bytes: number, isOpen: () => boolean): Turn {
    if (bytes <= LONG_BYTES) return () => undefined;
    const [bodies] = this.queues;
    let place: Place | undefined;
    const turn = this.#slices.turns(caller, () => place?.release());
    const begin = async (): Promise<void> => {
      place = await admit(bodies, caller);
      try {
        await turn();
        if (!isOpen()) throw new HttpError(400, 'the client has disconnected');
      } catch (error) {
        place.release();
        throw error;
      }
    };
    return () => (place === undefined ? begin() : turn());
  }

  /**
   * Does the work for a list or review in its turn.
   * @param caller SRN
   * @throws {HttpError} 429 or 503 where too many wait, 503 after thirty seconds, 499 where the client left
   */
  async list<T>(caller: string, work: Slices<T>, signal: AbortSignal): Promise<T> {
    const [, lists] = this.queues;
    const place = await admit(lists, caller, { signal });
    try {
      return await this.#slices.run(caller, work, signal);
    } catch (error) {
      if (signal.aborted) throw new HttpError(499, 'the client disconnected');
      throw error;
    } finally {
      place.release();
    }
  }

  /** The turns of work that has no limit of its own, such as writing a list as JSON. @param caller SRN */
  turns(caller: string): Turn {
    return this.#slices.turns(caller);
  }
}
