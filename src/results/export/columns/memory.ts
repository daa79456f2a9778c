const PAGE_BYTES = 64 * 1024;
/** A block begins at a multiple, as the values of 64 bits in it need. */
const ALIGNMENT = 8;

/** The used part of `WebAssembly.Memory`. */
export interface WasmMemory {
  readonly buffer: ArrayBuffer;
  grow(pages: number): number;
}

/** The memory of a kernel, in blocks that are reserved one after the other and released together. */
export class KernelMemory {
  readonly #memory: WasmMemory;
  readonly #base: number;
  #end: number;
  /** Views of the whole memory; replaced when it grows. */
  bytes!: Buffer;
  words!: Int32Array;
  view!: DataView;

  /** @param base the first byte that may be reserved */
  constructor(memory: WasmMemory, base: number) {
    this.#memory = memory;
    this.#base = base;
    this.#end = base;
    this.#setViews();
  }

  get buffer(): ArrayBuffer {
    return this.#memory.buffer;
  }

  /** Bytes of all blocks. */
  get reserved(): number {
    return this.#end - this.#base;
  }

  /** @returns the offset of a block, whose content is undefined. @throws {RangeError} if there is no memory */
  reserve(length: number): number {
    const at = Math.ceil(this.#end / ALIGNMENT) * ALIGNMENT;
    const missing = at + length - this.buffer.byteLength;
    if (missing > 0) {
      this.#memory.grow(Math.ceil(missing / PAGE_BYTES));
      this.#setViews();
    }
    this.#end = at + length;
    return at;
  }

  /** Releases all blocks. */
  release(): void {
    this.#end = this.#base;
  }

  #setViews(): void {
    this.bytes = Buffer.from(this.buffer);
    this.words = new Int32Array(this.buffer);
    this.view = new DataView(this.buffer);
  }
}
