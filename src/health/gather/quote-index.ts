import { QUOTE_KERNEL_BINARY } from './quote-kernel-binary.ts';

/** The part of the global `WebAssembly` that is used here; Node's type declarations leave it out. */
interface WasmApi {
  readonly Module: new (bytes: Uint8Array) => object;
  readonly Instance: new (compiled: object) => { readonly exports: object };
}

interface Exports {
  readonly memory: { readonly buffer: ArrayBuffer };
  readonly CAPACITY: { readonly value: number };
  inputAt(): number;
  outputAt(): number;
  scan(length: number): void;
}

/**
 * Tells where the quotes and backslashes of a chunk are: their offsets in ascending order, then at least one past the end of the chunk, which
 * makes a bound needless where they are walked. What it returns holds until the next call: one buffer serves all.
 */
export type QuoteIndex = (bytes: Uint8Array) => Uint32Array;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const PAST_END = 0x7fffffff;

/**
 * The index by WebAssembly SIMD: a tenth of what a loop in JavaScript takes for the long names and values of the engine.
 * @throws where the runtime has no WebAssembly SIMD
 */
export function wasmQuoteIndex(): QuoteIndex {
  const { Module, Instance } = (globalThis as unknown as { WebAssembly: WasmApi }).WebAssembly;
  const wasm = new Instance(new Module(Buffer.from(QUOTE_KERNEL_BINARY, 'base64'))).exports as Exports;
  const capacity = wasm.CAPACITY.value;
  const input = new Uint8Array(wasm.memory.buffer, wasm.inputAt(), capacity);
  const output = new Uint32Array(wasm.memory.buffer, wasm.outputAt());
  const scalar = scalarQuoteIndex();
  return (bytes) => {
    // Only a token that spans chunks, joined, comes in more.
    if (bytes.length > capacity) return scalar(bytes);
    input.set(bytes);
    wasm.scan(bytes.length);
    return output;
  };
}

/** The same byte by byte, for a runtime without WebAssembly, and the oracle that the other is tested against. */
export function scalarQuoteIndex(): QuoteIndex {
  let output = new Uint32Array(1024);
  return (bytes) => {
    let count = 0;
    if (output.length <= bytes.length) output = new Uint32Array(bytes.length + 1);
    for (let at = 0; at < bytes.length; at += 1) {
      const byte = bytes[at];
      if (byte === QUOTE || byte === BACKSLASH) output[count++] = at;
    }
    output[count] = PAST_END;
    return output;
  };
}

/** The fastest that this runtime has. */
export function chooseQuoteIndex(create: () => QuoteIndex = wasmQuoteIndex): QuoteIndex {
  try {
    return create();
  } catch {
    // No WebAssembly, no SIMD, or it is forbidden here: the other gives the same answers more slowly.
    return scalarQuoteIndex();
  }
}

export const quotesIn: QuoteIndex = chooseQuoteIndex();
