import { describe, expect, it } from 'vitest';
import { dirtyMemory, PAGE_BYTES } from './kernel-memory.ts';

describe('the memory of a kernel', () => {
  it('is reserved in blocks one after the other, each at a multiple of 8', () => {
    const { memory } = dirtyMemory(5);
    expect(memory.reserved).toBe(0);
    expect([memory.reserve(3), memory.reserve(8), memory.reserve(1), memory.reserve(0)]).toEqual([8, 16, 24, 32]);
    expect(memory.reserved).toBe(27);
  });

  it('is reserved again after all blocks are released', () => {
    const { memory } = dirtyMemory(16);
    memory.reserve(100);
    memory.release();
    expect(memory.reserved).toBe(0);
    expect(memory.reserve(4)).toBe(16);
    expect(memory.reserved).toBe(4);
  });

  it('grows by the pages that are missing, not before', () => {
    const { memory, grown } = dirtyMemory(8);
    expect(memory.reserve(PAGE_BYTES - 8)).toBe(8);
    expect(grown).toEqual([]);
    expect(memory.reserve(1)).toBe(PAGE_BYTES);
    expect(grown).toEqual([1]);
    memory.reserve(3 * PAGE_BYTES - 8);
    expect(grown).toEqual([1, 2]);
    memory.reserve(PAGE_BYTES + 1);
    expect(grown).toEqual([1, 2, 2]);
  });

  it('has views of all of it after it has grown', () => {
    const { memory } = dirtyMemory(0);
    memory.bytes[7] = 1;
    const at = memory.reserve(2 * PAGE_BYTES);
    memory.view.setInt32(at + PAGE_BYTES, 1234, true);
    expect(memory.words[(at + PAGE_BYTES) / 4]).toBe(1234);
    expect(memory.bytes[7]).toBe(1);
    expect(new Set([memory.bytes, memory.words, memory.view].map((view) => view.buffer))).toEqual(
      new Set([memory.buffer]),
    );
    expect([memory.bytes, memory.words, memory.view].map((view) => view.byteLength)).toEqual(
      Array(3).fill(2 * PAGE_BYTES),
    );
  });
});
