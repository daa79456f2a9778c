import { badRow, type RowKernel, type RowSink, type RowWalk } from './row-kernel.ts';
import { ROW_KERNEL_BINARY } from './row-kernel-binary.ts';

type Cell<T> = { value: T };

/** The used part of the global `WebAssembly`; Node's type declarations do not include it. */
interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (compiled: object) => { readonly exports: object };
}

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly CAPACITY: Cell<number>;
  readonly inString: Cell<bigint>;
  readonly escaped: Cell<bigint>;
  readonly depth: Cell<number>;
  readonly stack: Cell<bigint>;
  readonly gap: Cell<number>;
  readonly stride: Cell<number>;
  readonly countdown: Cell<number>;
  readonly limit: Cell<number>;
  readonly rows: Cell<number>;
  readonly offsets: Cell<number>;
  readonly ended: Cell<number>;
  readonly error: Cell<number>;
  inputAt(): number;
  outputAt(): number;
  scan(length: number): number;
}

const NO_LIMIT = 0x7fffffff;
const PADDING = 64;
const SPACE = 0x20;

/**
 * The kernel in WebAssembly SIMD. One instance serves all walks because a call is synchronous: the state of a walk
 * is loaded before the call and saved after it.
 * @throws if the runtime has no WebAssembly SIMD
 */
export function createWasmKernel(): RowKernel {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WasmApi }).WebAssembly;
  const exports = new Instance(new Module(Buffer.from(ROW_KERNEL_BINARY, 'base64'))).exports as Exports;
  const capacity = exports.CAPACITY.value;
  const input = new Uint8Array(exports.memory.buffer, exports.inputAt(), capacity + PADDING);
  // The shortest row has three bytes: `[],`.
  const output = new Uint32Array(exports.memory.buffer, exports.outputAt(), Math.ceil(capacity / 2));
  return { name: 'wasm', walk: (limit) => new WasmWalk(exports, input, output, limit) };
}

class WasmWalk implements RowWalk {
  rows = 0;
  ended = false;
  readonly #wasm: Exports;
  readonly #input: Uint8Array;
  readonly #output: Uint32Array;
  readonly #limit: number | undefined;
  #inString = 0n;
  #escaped = 0n;
  #depth = 0;
  #stack = 0n;
  #gap = 0;

  constructor(wasm: Exports, input: Uint8Array, output: Uint32Array, limit: number | undefined) {
    this.#wasm = wasm;
    this.#input = input;
    this.#output = output;
    this.#limit = limit;
  }

  scan(chunk: Uint8Array, stride: number, sink: RowSink): number {
    const piece = this.#input.length - PADDING;
    let from = 0;
    while (from < chunk.length && !this.ended) {
      from += this.#scanPiece(chunk, from, Math.min(piece, chunk.length - from), stride, sink);
    }
    return from;
  }

  #scanPiece(chunk: Uint8Array, from: number, length: number, stride: number, sink: RowSink): number {
    const wasm = this.#wasm;
    this.#input.set(chunk.subarray(from, from + length));
    this.#input.fill(SPACE, length, length + PADDING);
    const wait = (stride - (this.rows % stride)) % stride;
    this.#load(stride, wait);
    const used = wasm.scan(length);
    if (wasm.error.value !== 0) throw badRow(wasm.error.value, this.rows);
    const found = wasm.offsets.value;
    for (let i = 0, row = this.rows + wait; i < found; i++, row += stride) sink(row, from + (this.#output[i] ?? 0));
    this.rows += wasm.rows.value;
    this.ended = wasm.ended.value !== 0;
    this.#save();
    return used;
  }

  #load(stride: number, wait: number): void {
    const wasm = this.#wasm;
    wasm.inString.value = this.#inString;
    wasm.escaped.value = this.#escaped;
    wasm.depth.value = this.#depth;
    wasm.stack.value = this.#stack;
    wasm.gap.value = this.#gap;
    wasm.stride.value = stride;
    wasm.countdown.value = wait + 1;
    wasm.limit.value = this.#limit === undefined ? NO_LIMIT : this.#limit - this.rows;
  }

  #save(): void {
    const wasm = this.#wasm;
    this.#inString = wasm.inString.value;
    this.#escaped = wasm.escaped.value;
    this.#depth = wasm.depth.value;
    this.#stack = wasm.stack.value;
    this.#gap = wasm.gap.value;
  }
}
