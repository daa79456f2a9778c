import { KernelMemory } from '../../../../src/results/export/columns/memory.ts';

export const PAGE_BYTES = 64 * 1024;
/** What a byte has that nobody wrote: the memory of a kernel is used again. */
export const DIRT = 0xa5;

/** A memory of a kernel of one page, with what it was asked for. */
export function dirtyMemory(base: number): { readonly memory: KernelMemory; readonly grown: readonly number[] } {
  const grown: number[] = [];
  let buffer = new Uint8Array(PAGE_BYTES).fill(DIRT).buffer;
  const memory = new KernelMemory(
    {
      get buffer() {
        return buffer;
      },
      grow(pages) {
        if (pages > 100) throw new RangeError('more than any test needs');
        grown.push(pages);
        const larger = new Uint8Array(buffer.byteLength + pages * PAGE_BYTES).fill(DIRT);
        larger.set(new Uint8Array(buffer));
        buffer = larger.buffer;
        return 0;
      },
    },
    base,
  );
  return { memory, grown };
}
