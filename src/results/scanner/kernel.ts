import { JS_KERNEL } from './kernel-js.ts';
import { createWasmKernel } from './kernel-wasm.ts';
import type { RowKernel } from './row-kernel.ts';

/** The fastest kernel available in this runtime. */
export function chooseKernel(create: () => RowKernel = createWasmKernel): RowKernel {
  try {
    return create();
  } catch {
    // WebAssembly or SIMD is missing or disabled: the JS kernel gives the same results at a quarter of the speed.
    return JS_KERNEL;
  }
}

export const ROW_KERNEL: RowKernel = chooseKernel();
