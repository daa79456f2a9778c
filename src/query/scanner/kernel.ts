import { JS_KERNEL } from './kernel-js.ts';
import { createWasmKernel } from './kernel-wasm.ts';
import type { RowKernel } from './row-kernel.ts';

/** The fastest kernel that this runtime has. */
export function chooseKernel(create: () => RowKernel = createWasmKernel): RowKernel {
  try {
    return create();
  } catch {
    // No WebAssembly, no SIMD, or it is forbidden here: the twin gives the same answers at a quarter of the speed.
    return JS_KERNEL;
  }
}

export const ROW_KERNEL: RowKernel = chooseKernel();
