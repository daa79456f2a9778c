import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { untilAborted } from '../../../src/platform/until-aborted.ts';

describe('untilAborted', () => {
  it('settles like the promise, and leaves no listener', async () => {
    const { signal } = new AbortController();
    expect(await untilAborted(Promise.resolve(1), signal)).toBe(1);
    await expect(untilAborted(Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('rejects with the reason of the signal, or with another error', async () => {
    const controller = new AbortController();
    const pending = new Promise<never>(() => undefined);
    const both = [
      untilAborted(pending, controller.signal),
      untilAborted(pending, controller.signal, () => new Error('other')),
    ];
    controller.abort(new Error('enough'));
    await expect(both[0]).rejects.toThrow('enough');
    await expect(both[1]).rejects.toThrow('other');
    await expect(untilAborted(Promise.resolve(1), controller.signal)).rejects.toThrow('enough');
    expect(getEventListeners(controller.signal, 'abort')).toEqual([]);
  });
});
