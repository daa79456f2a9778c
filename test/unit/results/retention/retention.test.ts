import { Registry } from 'prom-client';
import { beforeEach, describe, expect, it } from 'vitest';
import { prometheusQueryMetrics } from '../../../../src/results/metrics.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';
import type { ResultRecord, ResultStore, StoredResultSummary } from '../../../../src/results/result-store.ts';
import { chooseForDeletion, Retention, RENEWAL_GRACE_MS } from '../../../../src/results/retention/retention.ts';
import { usageOf } from '../../../../src/results/retention/usage.ts';
import { DEFAULT_PAGINATION_SETTINGS, type StorageCleanerSettings } from '../../../../src/results/settings.ts';
import { MemoryStore } from '../../../../src/results/stores/memory/memory-store.ts';
import { storeResponse } from '../../../../src/results/submit/submit.ts';
import { answerText, responseOf, rowTexts, submission } from '../answers.ts';
import { WAIT_LIMIT_MS } from '../../../support/limits.ts';

const MB = 1024 * 1024;
const QUOTA: StorageCleanerSettings = { enabled: true, maxStorageMb: 100, criticalPercent: 90, targetPercent: 60 };
const NOW = 1_000_000;

function stored(name: string, megabytes: number, expirationTimeMs = NOW + 1): StoredResultSummary {
  const record = { ...submission({ requestId: name, expirationTimeMs }) } as ResultRecord;
  return { record, bytes: megabytes * MB, dataFile: '', metadataFile: '' };
}

const names = (chosen: ReturnType<typeof chooseForDeletion>): string[] =>
  chosen.map(({ result, reason }) => `${result.record.requestId}:${reason}`);

describe('the selection of results for the quota', () => {
  it('is empty at the critical threshold, and not above it', () => {
    expect(chooseForDeletion([stored('a', 40), stored('b', 50)], QUOTA, NOW)).toEqual([]);
    const above = [stored('a', 40), { ...stored('b', 50), bytes: 50 * MB + 1 }];
    expect(names(chooseForDeletion(above, QUOTA, NOW))).toEqual(['b:quota']);
  });

  it('is empty while the cleaner is disabled', () => {
    expect(chooseForDeletion([stored('a', 500)], { ...QUOTA, enabled: false }, NOW)).toEqual([]);
  });

  it('begins with all expired results, then the largest until the target is reached', () => {
    const results = [
      stored('small', 5),
      stored('middle', 25),
      stored('large', 45),
      stored('old', 10, NOW),
      stored('older', 10, NOW - 5),
    ];
    expect(names(chooseForDeletion(results, QUOTA, NOW))).toEqual(['old:expired', 'older:expired', 'large:quota']);
  });

  it('has a result that expires now once, however large it is', () => {
    const results = [stored('old', 30, NOW), stored('a', 26), stored('b', 25), stored('c', 19)];
    expect(names(chooseForDeletion(results, QUOTA, NOW))).toEqual(['old:expired', 'a:quota']);
  });

  it('stops exactly at the target', () => {
    const results = [stored('a', 35), stored('b', 30), stored('c', 30)];
    expect(names(chooseForDeletion(results, QUOTA, NOW))).toEqual(['a:quota']);
    expect(names(chooseForDeletion([...results, { ...stored('d', 0), bytes: 1 }], QUOTA, NOW))).toEqual([
      'a:quota',
      'b:quota',
    ]);
  });
});

describe('the retention', () => {
  let store: ResultStore;
  let reading: Set<string>;
  let registry: Registry;
  let retention: Retention;
  let quota: StorageCleanerSettings;
  let maxExpirationMs: number;
  let notices: string[];
  let seed = 0;
  const signal = AbortSignal.timeout(WAIT_LIMIT_MS);

  beforeEach(() => {
    store = new MemoryStore({ maxBytes: 64 * MB });
    reading = new Set();
    notices = [];
    maxExpirationMs = 0;
    quota = { enabled: true, maxStorageMb: 1, criticalPercent: 90, targetPercent: 60 };
    retention = retentionOver(store);
  });

  function retentionOver(over: ResultStore, deletesExpired = true): Retention {
    return new Retention({
      store: over,
      gatewayId: 'gw-0',
      settings: () => ({ ...DEFAULT_PAGINATION_SETTINGS, maxExpirationMs, storageCleaner: quota }),
      clock: { now: () => NOW },
      metrics: prometheusQueryMetrics((registry = new Registry())),
      deletesExpired,
      isBeingRead: (requestId) => reading.has(requestId),
      onNotice: (message) => notices.push(message),
    });
  }

  async function put(rows: number, over: { expirationTimeMs?: number; brokerId?: string } = {}): Promise<string> {
    const requestId = newRequestId('gw-0', (bytes) => new Uint8Array(bytes).fill(++seed));
    const record = submission({ requestId, brokerId: 'gw-0', expirationTimeMs: NOW + 1, ...over });
    await storeResponse(responseOf(answerText(rowTexts(rows))), store, record, signal);
    return requestId;
  }
  const withLocal = (plain: ResultStore, local: boolean): ResultStore =>
    new Proxy(plain, {
      get: (target, name) => {
        const value = name === 'local' ? local : (Reflect.get(target, name) as unknown);
        return typeof value === 'function' ? (value.bind(target) as unknown) : value;
      },
    });
  const has = async (requestId: string): Promise<boolean> => (await store.open(requestId, signal)) !== undefined;

  it('deletes results down to the target and updates the metrics', async () => {
    const [large, small] = [await put(20_000), await put(12_000)];
    const outcome = await retention.run(signal);
    expect(outcome.deleted).toEqual([large]);
    expect(outcome.after).toBeLessThan(outcome.before);
    expect(await has(small)).toBe(true);
    const text = await registry.metrics();
    expect(text).toContain('olap_warden_pagination_deletions_total{reason="quota"} 1');
    expect(text).toContain('olap_warden_pagination_stored_results 1');
    expect(text).toContain(`olap_warden_pagination_stored_bytes ${outcome.after}`);
  });

  it('reports deletions for the quota, and not those of expired results', async () => {
    const [large, old] = [await put(20_000), await put(12_000, { expirationTimeMs: NOW })];
    quota = { ...quota, targetPercent: 0 };
    const { before, deleted } = await retention.run(signal);
    expect(deleted).toEqual([old, large]);
    expect(notices).toHaveLength(1);
    const [, bytes] = /^deleted the stored result .* \((\d+) bytes\) to stay within the quota$/.exec(notices[0]!) ?? [];
    expect(notices[0]).toContain(large);
    expect(Number(bytes)).toBeGreaterThan(before / 2);
    const text = await registry.metrics();
    expect(text).toContain('olap_warden_pagination_deletions_total{reason="expired"} 1');
    expect(text).toContain('olap_warden_pagination_deletions_total{reason="quota"} 1');
  });

  it('does not count a result that another process has deleted meanwhile', async () => {
    const large = await put(30_000);
    store.delete = async () => false;
    const { before, after, deleted } = await retention.run(signal);
    expect([deleted, after, notices]).toEqual([[], before, []]);
    expect(await registry.metrics()).not.toContain('deletions_total{');
    expect(await has(large)).toBe(true);
  });

  it('does not delete a result that is being read', async () => {
    const large = await put(30_000);
    reading.add(large);
    expect((await retention.run(signal)).deleted).toEqual([]);
    reading.clear();
    expect((await retention.run(signal)).deleted).toEqual([large]);
  });

  it('waits for a renewal that was begun before the expiration', async () => {
    maxExpirationMs = 86_400_000;
    const [expired, expiring] = [
      await put(1, { expirationTimeMs: NOW - RENEWAL_GRACE_MS }),
      await put(1, { expirationTimeMs: NOW - RENEWAL_GRACE_MS + 1 }),
    ];
    expect((await retention.run(signal)).deleted).toEqual([expired]);
    expect(await has(expiring)).toBe(true);
    maxExpirationMs = 0;
    expect((await retention.run(signal)).deleted).toEqual([expiring]);
  });

  it('does not delete results of other gateways in a shared store', async () => {
    const others = await put(40_000, { brokerId: 'gw-1' });
    expect((await retentionOver(withLocal(store, false)).run(signal)).deleted).toEqual([]);
    expect(await has(others)).toBe(true);
  });

  it('counts and deletes all results of a local store, whatever `brokerId` an earlier process had', async () => {
    const renamed = await put(40_000, { brokerId: 'gw-before' });
    const { usedBytes } = await usageOf(store, 'gw-0', quota, signal);
    expect(usedBytes).toBeGreaterThan(MB);
    expect((await retention.run(signal)).deleted).toEqual([renamed]);
  });

  it('continues to the target after the reader has closed, although usage is below the threshold then', async () => {
    const [large, small] = [await put(20_000), await put(4000)];
    quota = { ...quota, maxStorageMb: 1, criticalPercent: 90, targetPercent: 1 };
    reading.add(large);
    expect((await retention.run(signal)).deleted).toEqual([small]);
    reading.clear();
    quota = { ...quota, criticalPercent: 100 };
    expect((await retention.run(signal)).deleted).toEqual([large]);
    const kept = await put(20_000);
    expect((await retention.run(signal)).deleted).toEqual([]);
    expect(await has(kept)).toBe(true);
  });

  it.each([true, false])('deletes expired results of other gateways in a shared store (local: %s)', async (local) => {
    const shared = withLocal(store, local);
    const at = NOW - 600_000;
    const lost = await put(1, { brokerId: 'gw-gone', expirationTimeMs: at - 1 });
    const others = await put(1, { brokerId: 'gw-1', expirationTimeMs: at });
    expect((await retentionOver(shared).run(signal)).deleted).toEqual(local ? [lost, others] : [lost]);
    expect(await has(others)).toBe(!local);
    const withOperator = retentionOver(shared, false);
    const another = await put(1, { brokerId: 'gw-gone', expirationTimeMs: 0 });
    expect((await withOperator.run(signal)).deleted).toEqual([]);
    expect(await has(another)).toBe(true);
  });

  it('deletes expired results if no operator does', async () => {
    quota = { ...quota, enabled: false };
    const [old, fresh] = [await put(1, { expirationTimeMs: NOW }), await put(1)];
    expect((await retention.run(signal)).deleted).toEqual([old]);
    expect(await has(fresh)).toBe(true);
  });

  it('applies changed settings', async () => {
    const large = await put(40_000);
    quota = { ...quota, maxStorageMb: 100 };
    expect((await retention.run(signal)).deleted).toEqual([]);
    quota = { ...quota, maxStorageMb: 1 };
    expect((await retention.run(signal)).deleted).toEqual([large]);
  });

  it('continues after a failed deletion and throws its error at the end', async () => {
    quota = { ...quota, enabled: false };
    const [away, old, fresh] = [
      await put(1, { expirationTimeMs: NOW }),
      await put(1, { expirationTimeMs: NOW }),
      await put(1),
    ];
    const deletion = store.delete.bind(store);
    store.delete = (requestId, aborted) =>
      requestId === away ? Promise.reject(new Error('its broker is away')) : deletion(requestId, aborted);
    await expect(retention.run(signal)).rejects.toThrow('its broker is away');
    expect([await has(away), await has(old), await has(fresh)]).toEqual([true, false, true]);
    expect(await registry.metrics()).toContain('olap_warden_pagination_stored_results 2');
  });

  it('runs once at a time', async () => {
    await put(1);
    const [first, second] = [retention.run(signal), retention.run(signal)];
    expect(second).toBe(first);
    await first;
  });
});
