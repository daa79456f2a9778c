import { JsWalk } from './kernel-js.ts';
import { AT } from './row-grammar.ts';
import type { RowKernel, RowSink, RowWalk } from './row-kernel.ts';
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
  readonly expects: Cell<bigint>;
  readonly opened: Cell<bigint>;
  readonly depth: Cell<number>;
  readonly stride: Cell<number>;
  readonly countdown: Cell<number>;
  readonly limit: Cell<number>;
  readonly rows: Cell<number>;
  readonly offsets: Cell<number>;
  inputAt(): number;
  outputAt(): number;
  scan(start: number, length: number): number;
}

const NO_LIMIT = 0x7fffffff;
const PADDING = 64;
/** The shortest part that the WebAssembly reads: a block, and the bytes that it may look ahead. */
const LEAST_BYTES = 72;
/** Bytes that are read by the other kernel after a block was not accepted; doubled up to the maximum while no block is accepted. */
const MIN_SLOW_BYTES = 64;
const MAX_SLOW_BYTES = 4096;

const QUOTE = 0x22;
const COMMA = 0x2c;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;

interface Memory {
  readonly wasm: Exports;
  readonly input: Uint8Array;
  readonly output: Uint32Array;
}

/**
 * The kernel in WebAssembly SIMD. It reads the usual blocks of 64 bytes; `JsWalk` reads everything else, and reports the errors. One
 * instance serves all walks because a call is synchronous: what it needs is set before the call.
 * @throws if the runtime has no WebAssembly SIMD
 */
export function createWasmKernel(): RowKernel {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WasmApi }).WebAssembly;
  const wasm = new Instance(new Module(Buffer.from(ROW_KERNEL_BINARY, 'base64'))).exports as Exports;
  const capacity = wasm.CAPACITY.value;
  const input = new Uint8Array(wasm.memory.buffer, wasm.inputAt(), capacity + PADDING);
  // The shortest row has three bytes: `[],`.
  const output = new Uint32Array(wasm.memory.buffer, wasm.outputAt(), Math.ceil(capacity / 2));
  return { name: 'wasm', walk: (limit) => new WasmWalk({ wasm, input, output }, limit) };
}

class WasmWalk implements RowWalk {
  readonly #exact: JsWalk;
  readonly #memory: Memory;
  #slowBytes = MIN_SLOW_BYTES;

  constructor(memory: Memory, limit: number | undefined) {
    this.#exact = new JsWalk(limit);
    this.#memory = memory;
  }

  get rows(): number {
    return this.#exact.rows;
  }

  get ended(): boolean {
    return this.#exact.ended;
  }

  scan(chunk: Uint8Array, stride: number, sink: RowSink): number {
    const capacity = this.#memory.wasm.CAPACITY.value;
    let from = 0;
    while (from < chunk.length && !this.ended) {
      const length = Math.min(capacity, chunk.length - from);
      const used = this.#scanPiece(chunk.subarray(from, from + length), stride, (row, offset) =>
        sink(row, from + offset),
      );
      from += used;
    }
    return from;
  }

  /** @param bytes at most the capacity */
  #scanPiece(bytes: Uint8Array, stride: number, sink: RowSink): number {
    const end = bytes.length;
    const copied = end >= LEAST_BYTES;
    if (copied) this.#memory.input.set(bytes);
    let at = 0;
    while (at < end && !this.ended) {
      const before = at;
      const usable = copied && this.#exact.isResumable;
      if (usable && end - at >= LEAST_BYTES) at = this.#scanBlocks(bytes, at, stride, sink);
      const slowBytes = usable && at === before ? this.#slowBytes : 0;
      const pauseAt = end - at < LEAST_BYTES ? end : at + slowBytes;
      at = this.#exact.scanPart({ bytes, end, pauseAt }, at, stride, sink);
    }
    return at;
  }

  #scanBlocks(bytes: Uint8Array, from: number, stride: number, sink: RowSink): number {
    const { wasm, output } = this.#memory;
    const exact = this.#exact;
    const { state } = exact;
    const wait = (stride - (exact.rows % stride)) % stride;
    wasm.inString.value = state === AT.string ? -1n : 0n;
    wasm.expects.value = state === AT.value || state === AT.first ? 1n : 0n;
    wasm.opened.value = state === AT.first ? 1n : 0n;
    wasm.depth.value = exact.depth;
    wasm.stride.value = stride;
    wasm.countdown.value = wait + 1;
    wasm.limit.value = Math.min(NO_LIMIT, exact.limit - exact.rows);
    const used = wasm.scan(from, bytes.length);
    if (used === from) {
      this.#slowBytes = Math.min(MAX_SLOW_BYTES, this.#slowBytes * 2);
      return from;
    }
    this.#slowBytes = MIN_SLOW_BYTES;
    const found = wasm.offsets.value;
    for (let i = 0, row = exact.rows + wait; i < found; i++, row += stride) sink(row, output[i] as number);
    exact.rows += wasm.rows.value;
    return this.#resumeAt(bytes, from, used);
  }

  /** Continues after the blocks, at the start of a value that is not complete. */
  #resumeAt(bytes: Uint8Array, from: number, end: number): number {
    const { wasm } = this.#memory;
    const depth = wasm.depth.value;
    if (wasm.inString.value !== 0n) {
      this.#exact.resume(AT.string, depth);
      return wasm.escaped.value === 0n ? end : end + 1;
    }
    let at = end;
    while (at > from && !isDelimiter(bytes[at - 1] as number)) at--;
    // A value cannot begin before the part: `isResumable` excludes that.
    if (at > from) this.#exact.resume(stateAfter(bytes[at - 1] as number, depth), depth);
    return at;
  }
}

function isDelimiter(byte: number): boolean {
  return byte === QUOTE || byte === COMMA || byte === OPEN_ARRAY || byte === CLOSE_ARRAY;
}

/** @param byte outside of strings, before `depth` was reached or at it */
function stateAfter(byte: number, depth: number): number {
  if (byte === OPEN_ARRAY) return AT.first;
  if (byte === COMMA) return depth === 0 ? AT.row : AT.value;
  return depth === 0 ? AT.commaOrEnd : AT.after;
}
