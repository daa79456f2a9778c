import type { LeaseRecord, Leases } from '../../../../src/kubernetes/leases.ts';
import { StoreError } from '../../../../src/store/resource-store.ts';
import type { FakeClock } from '../../../support/fake-clock.ts';

/** A lease with the conflict check of the API server. */
export class FakeLeases implements Leases {
  record: LeaseRecord | undefined;
  #version = 0;
  down = false;
  /** If true, calls get no answer: they end with their time-out or their signal. */
  hangs = false;
  readonly #clock: FakeClock | undefined;

  constructor(clock?: FakeClock) {
    this.#clock = clock;
  }

  async read(timeoutMs: number, signal: AbortSignal): Promise<LeaseRecord | undefined> {
    await this.#reach(timeoutMs, signal);
    return this.record;
  }
  async write(record: LeaseRecord, timeoutMs: number, signal: AbortSignal): Promise<LeaseRecord> {
    await this.#reach(timeoutMs, signal);
    if (record.resourceVersion !== this.record?.resourceVersion)
      throw new StoreError('conflict', 'object was modified');
    this.record = { ...record, resourceVersion: String(++this.#version) };
    return this.record;
  }
  async #reach(timeoutMs: number, signal: AbortSignal): Promise<void> {
    if (this.hangs) {
      await new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('aborted')));
        this.#clock?.schedule(() => reject(new StoreError('unavailable', 'no answer in time')), timeoutMs);
      });
    }
    if (this.down) throw new StoreError('unavailable', 'the API server is away');
  }
}
