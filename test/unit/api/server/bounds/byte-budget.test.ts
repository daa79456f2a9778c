import { describe, expect, it, vi } from 'vitest';
import { ByteBudget, type Lease } from '../../../../../src/api/server/bounds/byte-budget.ts';

const NEVER = new AbortController().signal;
const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

function budgetOf(totalBytes: number, bytesPerCaller: number, options: object = {}): ByteBudget {
  return new ByteBudget({ totalBytes, bytesPerCaller, ...options });
}

/** Acquires a lease and records the name when it is granted. */
function acquire(budget: ByteBudget, caller: string, bytes: number, admitted: string[], name = caller): Promise<Lease> {
  return budget.acquire(caller, bytes, NEVER).then((lease) => {
    admitted.push(name);
    return lease;
  });
}

describe('the byte budget', () => {
  it('admits up to the share of a caller and the total, and counts released bytes', async () => {
    const budget = budgetOf(100, 60);
    const admitted: string[] = [];
    const first = await acquire(budget, 'a', 60, admitted);
    const second = acquire(budget, 'a', 10, admitted, 'a2');
    const third = await acquire(budget, 'b', 40, admitted);
    await nextTurn();
    expect([admitted, budget.heldBytes]).toEqual([['a', 'b'], 100]);
    first.resize(50);
    (await second).release();
    first.release();
    first.release();
    first.resize(1000);
    expect(budget.heldBytes).toBe(40);
    third.release();
    expect(budget.heldBytes).toBe(0);
  });

  it('treats a request above the share as the whole share', async () => {
    const budget = budgetOf(100, 60);
    await budget.acquire('a', 1_000, NEVER);
    expect(budget.heldBytes).toBe(60);
  });

  it('serves waiting callers in turn, independent of their number of requests', async () => {
    const budget = budgetOf(10, 10);
    const admitted: string[] = [];
    const running = await budget.acquire('x', 10, NEVER);
    const leases = [
      acquire(budget, 'a', 10, admitted, 'a1'),
      acquire(budget, 'a', 10, admitted, 'a2'),
      acquire(budget, 'a', 10, admitted, 'a3'),
      acquire(budget, 'b', 10, admitted, 'b1'),
      acquire(budget, 'c', 10, admitted, 'c1'),
    ];
    running.release();
    for (const at of [0, 3, 4, 1, 2]) (await leases[at])?.release();
    expect(admitted).toEqual(['a1', 'b1', 'c1', 'a2', 'a3']);
  });

  it('does not admit later requests before one that waits for the total', async () => {
    const budget = budgetOf(10, 10);
    const admitted: string[] = [];
    const running = await budget.acquire('x', 6, NEVER);
    const large = acquire(budget, 'a', 8, admitted);
    const small = acquire(budget, 'b', 1, admitted);
    await nextTurn();
    expect(admitted).toEqual([]);
    running.release();
    await Promise.all([large, small]);
    expect(admitted).toEqual(['a', 'b']);
  });

  it('returns 503 if too many requests wait, or too long', async () => {
    vi.useFakeTimers();
    try {
      const budget = budgetOf(10, 10, { maxWaiting: 1, maxWaitMs: 500 });
      const lease = await budget.acquire('a', 10, NEVER);
      const waiting = budget.acquire('b', 10, NEVER);
      const refused = expect(waiting).rejects.toMatchObject({ statusCode: 503, headers: { 'retry-after': '2' } });
      await expect(budget.acquire('c', 10, NEVER)).rejects.toMatchObject({ statusCode: 503 });
      await vi.advanceTimersByTimeAsync(500);
      await refused;
      lease.release();
      expect((await budget.acquire('c', 10, NEVER)) && budget.heldBytes).toBe(10);
    } finally {
      vi.useRealTimers();
    }
  });

  it('removes a waiting caller that disconnects', async () => {
    const budget = budgetOf(10, 10);
    const lease = await budget.acquire('a', 10, NEVER);
    const controller = new AbortController();
    const waiting = budget.acquire('b', 10, controller.signal);
    controller.abort();
    await expect(waiting).rejects.toMatchObject({ statusCode: 499 });
    lease.release();
    expect(budget.heldBytes).toBe(0);
    await expect(budget.acquire('b', 10, controller.signal)).resolves.toBeDefined();
  });
});
