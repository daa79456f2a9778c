import { COLUMN_KERNEL_BINARY } from './column-kernel-binary.ts';
import type { AnyColumn } from './column.ts';
import { KernelMemory, type WasmMemory } from './memory.ts';
import { Slot, SLOT_BYTES } from './slot.ts';

/** What `run` returns, agreed with tools/generate/column-kernel.as. */
export const RESULT = {
  allRead: 0,
  batchRead: 1,
  noRow: 2,
  wrongCount: 3,
  otherValue: -1,
  noPlace: -2,
  noRoom: -3,
} as const;

interface Cell {
  value: number;
}

interface Exports {
  readonly memory: WasmMemory;
  readonly position: Cell;
  readonly column: Cell;
  readonly rows: Cell;
  readonly rowAt: Cell;
  readonly valueAt: Cell;
  readonly needy: Cell;
  readonly slots: Cell;
  readonly count: Cell;
  heapBase(): number;
  run(end: number, stop: number): number;
}

/** The used part of the global `WebAssembly`; Node's type declarations do not include it. */
interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (compiled: object) => { readonly exports: object };
}

const BEFORE_ROW = -1;
const INPUT_UNIT_BYTES = 64 * 1024;
/** Larger pieces often follow. */
const INPUT_GROWTH = 1.25;
/** Values of a batch of short rows take less. */
const MAX_KEPT_BYTES = 16 * 1024 * 1024;
/** End every loop of the kernel, which reads words of eight bytes. */
const END_MARK = Buffer.from(']"]"]"]"]"]"]"]"');

/** Reads rows into slots in WebAssembly. One instance serves one download at a time. */
export class ColumnKernel {
  readonly #wasm: Exports;
  readonly #memory: KernelMemory;
  /** Of the columns, then those of the items of lists. */
  #slots: Slot[] = [];
  #input = 0;
  #inputBytes = 0;
  #end = 0;

  constructor(compiled: object) {
    const { Instance } = webAssembly();
    this.#wasm = new Instance(compiled).exports as Exports;
    this.#memory = new KernelMemory(this.#wasm.memory, this.#wasm.heapBase());
  }

  /** Size of its memory in bytes. */
  get size(): number {
    return this.#memory.buffer.byteLength;
  }

  /** Whether the columns grew so much that the next batch should begin with new ones: each keeps the room of its longest batch. */
  get isLarge(): boolean {
    return this.#memory.reserved - this.#inputBytes > MAX_KEPT_BYTES;
  }

  /** Rows read since the last `clear`. */
  get rows(): number {
    return this.#wasm.rows.value;
  }

  /** Offset of the row that was read last, in the rows loaded. */
  get rowAt(): number {
    return this.#wasm.rowAt.value - this.#input;
  }

  /** Offset of the value that was not read. */
  get valueAt(): number {
    return this.#wasm.valueAt.value - this.#input;
  }

  /** Number of its column. */
  get column(): number {
    return this.#wasm.column.value;
  }

  /** Where reading continues, in the rows loaded. */
  get position(): number {
    return this.#wasm.position.value - this.#input;
  }

  /** The slot of a column. */
  slot(column: number): Slot {
    return this.#slots[column] as Slot;
  }

  /** Begins with other columns. */
  begin(columns: readonly AnyColumn[]): void {
    const memory = this.#memory;
    memory.release();
    this.#inputBytes = 0;
    const lists = columns.filter(({ kind }) => kind === 'list').length;
    const at = memory.reserve((columns.length + lists) * SLOT_BYTES);
    const items: Slot[] = [];
    const slots = columns.map((column, i) => {
      if (column.kind !== 'list') return new Slot(memory, at + i * SLOT_BYTES, column.kind);
      const place = at + (columns.length + items.length) * SLOT_BYTES;
      const slot = new Slot(memory, place, column.items.kind);
      items.push(slot);
      return new Slot(memory, at + i * SLOT_BYTES, 'list', slot);
    });
    this.#slots = [...slots, ...items];
    this.#wasm.slots.value = at;
    this.#wasm.count.value = columns.length;
    this.#wasm.column.value = BEFORE_ROW;
    this.#wasm.rows.value = 0;
  }

  /** Loads rows to be read. */
  load(rows: Uint8Array): void {
    const size = rows.length + END_MARK.length;
    if (size > this.#inputBytes) {
      this.#inputBytes = Math.ceil((INPUT_GROWTH * size) / INPUT_UNIT_BYTES) * INPUT_UNIT_BYTES;
      this.#input = this.#memory.reserve(this.#inputBytes);
    }
    const { bytes } = this.#memory;
    bytes.set(rows, this.#input);
    bytes.set(END_MARK, this.#input + rows.length);
    this.#end = this.#input + rows.length;
    this.#wasm.position.value = this.#input;
  }

  /**
   * Reads rows into the slots.
   * @param stop offset at or behind which the row ends that is the last one
   * @returns one of RESULT, but never that room is missing
   */
  run(stop: number): number {
    for (;;) {
      const result = this.#wasm.run(this.#end, this.#input + stop);
      if (result !== RESULT.noPlace && result !== RESULT.noRoom) return result;
      const slot = this.#slots[(this.#wasm.needy.value - this.#wasm.slots.value) / SLOT_BYTES] as Slot;
      if (result === RESULT.noPlace) slot.grow();
      else slot.growBytes();
    }
  }

  /** Continues after the value that `run` has not read. @param end its end in the rows loaded */
  skipValue(end: number): void {
    this.#wasm.position.value = this.#input + end;
    this.#wasm.column.value++;
  }

  /** Removes the rows that were read. */
  clear(): void {
    for (const slot of this.#slots) slot.clear();
    this.#wasm.rows.value = 0;
  }
}

function webAssembly(): WasmApi {
  return (globalThis as unknown as { WebAssembly: WasmApi }).WebAssembly;
}

/** Kernels for the next downloads: a new memory of WebAssembly takes more time than a small download. */
const MAX_IDLE = 8;
const idle: ColumnKernel[] = [];
let compiled: object | undefined;

/** A kernel for the columns of one download, to be released at its end. */
export function takeKernel(columns: readonly AnyColumn[]): ColumnKernel {
  const { Module } = webAssembly();
  compiled ??= new Module(Buffer.from(COLUMN_KERNEL_BINARY, 'base64'));
  const kernel = idle.pop() ?? new ColumnKernel(compiled);
  kernel.begin(columns);
  return kernel;
}

/** Its columns are not used any more. */
export function releaseKernel(kernel: ColumnKernel): void {
  if (idle.length < MAX_IDLE && kernel.size <= MAX_KEPT_BYTES) idle.push(kernel);
}
