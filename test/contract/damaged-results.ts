import { describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/platform/clock.ts';
import { QueryError } from '../../src/results/errors.ts';
import { NO_METRICS } from '../../src/results/metrics.ts';
import { newRequestId } from '../../src/results/request-id.ts';
import type { ResultStore } from '../../src/results/result-store.ts';
import { Retention } from '../../src/results/retention/retention.ts';
import { Damages } from '../../src/results/rows/damages.ts';
import { QueryRuns } from '../../src/results/runs/runs.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../src/results/settings.ts';
import { PaginatedQueries } from '../../src/results/submit/paginated-queries.ts';
import { storeResponse } from '../../src/results/submit/submit.ts';
import { WAIT_LIMIT_MS } from '../support/limits.ts';
import { answerText, collect, responseOf, rowTexts, submission } from '../unit/results/answers.ts';

/** Files or objects, by name. */
export interface RawStorage {
  names(): Promise<string[]>;
  get(name: string): Promise<Uint8Array>;
  put(name: string, bytes: Uint8Array): Promise<void>;
  delete(name: string): Promise<void>;
}

/** A storage of results that can be damaged. */
export interface DamageableStore {
  readonly raw: RawStorage;
  /** Opens the storage for a gateway. With a store of its own the second one is the same gateway after a restart. */
  open(gatewayId: string, clock: Clock): Promise<ResultStore>;
  /** Whether several gateways can use the storage at the same time. */
  readonly isShared: boolean;
}

const HOUR_MS = 3_600_000;
const DAMAGED = /^the stored result is damaged: /;
const signal = (): AbortSignal => AbortSignal.timeout(WAIT_LIMIT_MS);

interface Damage {
  readonly what: string;
  /** Of the message. */
  readonly why: RegExp;
  readonly of: 'rows' | 'json';
  /** Undefined for a removal. */
  readonly change: ((bytes: Uint8Array) => Uint8Array) | undefined;
  /** Whether the owner of the result is unknown, so that only administrators learn of it. */
  readonly isUnreadable: boolean;
}

const flipped = (at: number) => (bytes: Uint8Array) => bytes.map((byte, index) => (index === at ? byte ^ 1 : byte));
const DAMAGES: readonly Damage[] = [
  { what: 'a changed byte', why: /in block 0/, of: 'rows', change: flipped(5), isUnreadable: false },
  {
    what: 'a truncated file of rows',
    why: /its rows have 20 bytes instead of/,
    of: 'rows',
    change: (bytes) => bytes.slice(0, 20),
    isUnreadable: false,
  },
  { what: 'no rows', why: /its rows are missing/, of: 'rows', change: undefined, isUnreadable: false },
  {
    what: 'an unreadable record',
    why: /its record is not valid JSON/,
    of: 'json',
    change: (bytes) => bytes.slice(0, 40),
    isUnreadable: true,
  },
  { what: 'a changed record', why: /does not match its checksum/, of: 'json', change: flipped(20), isUnreadable: true },
  { what: 'no record', why: /its record is missing/, of: 'json', change: undefined, isUnreadable: true },
];

let seed = 0;
const random = (bytes: number): Uint8Array => Buffer.alloc(bytes, `-${++seed}`);

/** One gateway over a store. */
class Gateway {
  readonly store: ResultStore;
  readonly queries: PaginatedQueries;
  readonly runs: QueryRuns;
  readonly #retention: Retention;

  constructor(id: string, store: ResultStore, clock: Clock) {
    const settings = () => DEFAULT_PAGINATION_SETTINGS;
    const damages = new Damages();
    const identity = { id, host: '127.0.0.1', port: 1 };
    const onProblem = (message: string): void => {
      throw new Error(message);
    };
    this.store = store;
    this.queries = new PaginatedQueries({ store, settings, identity, clock, random, damages });
    const newId = (): string => newRequestId(id, random);
    this.runs = new QueryRuns({ store, settings, gatewayId: id, clock, newId, instance: id, damages, onProblem });
    this.#retention = new Retention({
      store,
      gatewayId: id,
      settings,
      clock,
      metrics: NO_METRICS,
      deletesExpired: true,
      isBeingRead: () => false,
      onNotice: () => undefined,
    });
  }

  /** What each way to a result says: `ok`, `absent`, or its damage. */
  async views(requestId: string): Promise<Record<'page' | 'download' | 'status' | 'listing', string>> {
    const page = await said(async () => {
      const reader = await this.queries.open(requestId, signal());
      try {
        await this.queries.page(reader, { offset: 0, numRows: 1 }, signal());
      } finally {
        await reader.close();
      }
    });
    const download = await said(async () => {
      const reader = await this.queries.open(requestId, signal());
      const rows = { offset: 0, numRows: reader.record.rowCount };
      const wanted = { format: 'jsonl', caller: 'ann' } as const;
      try {
        const found = await this.queries.export(reader, wanted, rows, signal());
        await collect(found.body(0, found.length ?? 0, signal())).finally(found.release);
      } finally {
        await reader.close();
      }
    });
    const status = await said(async () => {
      const found = await this.runs.find(requestId, signal());
      return found === undefined ? 'absent' : found.damaged;
    });
    const listed = (await this.queries.list(signal())).find(({ record }) => record.requestId === requestId);
    return { page, download, status, listing: listed === undefined ? 'absent' : (listed.damaged ?? 'ok') };
  }

  async delete(requestId: string): Promise<void> {
    await this.queries.delete(await this.queries.deletable(requestId, signal()), signal());
  }

  async clean(): Promise<void> {
    await this.#retention.run(signal());
  }

  async close(): Promise<void> {
    await this.runs.close();
    await this.store.close();
  }
}

async function said(look: () => Promise<string | undefined | void>): Promise<string> {
  try {
    return (await look()) ?? 'ok';
  } catch (error) {
    if (error instanceof QueryError && error.code === 'not-found') return 'absent';
    if (error instanceof QueryError && error.code === 'damaged') return error.message;
    throw error;
  }
}

/** Tests that listing, reading and deletion agree about a damaged result. @param make creates an empty storage */
export function damagedResultsContract(name: string, make: () => Promise<DamageableStore>): void {
  describe(`damaged results in ${name}`, () => {
    async function prepared(rows = 5): Promise<{
      storage: DamageableStore;
      gateways: Gateway[];
      requestId: string;
      pass: (ms: number) => void;
    }> {
      let passed = 0;
      const clock: Clock = {
        ...systemClock,
        now: () => systemClock.now() + passed,
        monotonic: () => systemClock.monotonic() + passed,
        // The pause before rows count as left alone.
        schedule: (call, ms) => systemClock.schedule(call, ms === 1_000 ? 0 : ms),
      };
      const storage = await make();
      const requestId = newRequestId('gateway-0', random);
      const open = async (id: string): Promise<Gateway> => new Gateway(id, await storage.open(id, clock), clock);
      const first = await open('gateway-0');
      const expirationTimeMs = clock.now() + HOUR_MS;
      const origin = submission({ requestId, brokerId: 'gateway-0', expirationTimeMs });
      const outcome = await storeResponse(responseOf(answerText(rowTexts(rows))), first.store, origin, signal());
      if (outcome.kind !== 'stored') throw new Error('the response was not stored');
      await outcome.reader.close();
      // The first gateway has read the result before its damage, the second one has not.
      const absent = { page: 'ok', download: 'ok', status: 'ok', listing: 'ok' };
      expect(await first.views(requestId)).toEqual(absent);
      const second = await open(storage.isShared ? 'gateway-1' : 'gateway-0');
      return { storage, gateways: [first, second], requestId, pass: (ms) => (passed += ms) };
    }

    async function damage(storage: DamageableStore, requestId: string, { of, change }: Damage): Promise<void> {
      const file = `${requestId}.${of}`;
      if (change === undefined) await storage.raw.delete(file);
      else await storage.raw.put(file, change(await storage.raw.get(file)));
    }

    it.each(DAMAGES)('with $what are the same by each way, and deleted for all', async (one) => {
      const { storage, gateways, requestId, pass } = await prepared();
      await damage(storage, requestId, one);
      // Of rows without a record other gateways know only after a day that nobody writes them.
      pass(storage.isShared && one.of === 'json' && one.change === undefined ? 25 * HOUR_MS : 3_000);
      for (const gateway of gateways) {
        const views = await gateway.views(requestId);
        for (const view of Object.values(views)) expect(view, JSON.stringify(views)).toMatch(DAMAGED);
        expect(views.listing).toMatch(one.why);
        const { owner } = await gateway.queries.deletable(requestId, signal());
        expect(owner === undefined).toBe(one.isUnreadable);
      }
      await gateways[1]!.delete(requestId);
      pass(3_000);
      for (const gateway of gateways) {
        const gone = { page: 'absent', download: 'absent', status: 'absent', listing: 'absent' };
        expect(await gateway.views(requestId)).toEqual(gone);
        await expect(gateway.delete(requestId)).rejects.toMatchObject({ code: 'not-found' });
      }
      expect(await storage.raw.names()).toEqual([]);
      for (const gateway of gateways) await gateway.close();
    });

    it.each(DAMAGES)('with $what are removed by the cleaner when they expire', async (one) => {
      const { storage, gateways, requestId, pass } = await prepared();
      await damage(storage, requestId, one);
      pass(49 * HOUR_MS);
      await gateways[1]!.clean();
      expect(await storage.raw.names()).toEqual([]);
      for (const gateway of gateways) await gateway.close();
    });

    it('without rows are gone for all gateways when they are deleted, and not before', async () => {
      const { storage, gateways, requestId } = await prepared(0);
      for (const gateway of gateways) {
        expect(await gateway.views(requestId)).toEqual({ page: 'ok', download: 'ok', status: 'ok', listing: 'ok' });
      }
      await gateways[1]!.delete(requestId);
      // Another process of a store of its own learns of it a moment later.
      for (const gateway of storage.isShared ? gateways : gateways.slice(1)) {
        const gone = { page: 'absent', download: 'absent', status: 'absent', listing: 'absent' };
        expect(await gateway.views(requestId)).toEqual(gone);
      }
      for (const gateway of gateways) await gateway.close();
    });
  });
}
