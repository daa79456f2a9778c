import { readFile } from 'node:fs/promises';
import type { Generator } from './generator.ts';

interface Compiler {
  main(
    args: readonly string[],
    io: {
      readFile(name: string): string | null;
      writeFile(name: string, contents: string | Uint8Array): void;
      listFiles(): string[];
    },
  ): Promise<{ error: Error | null }>;
}

/** Not a literal: the package's declarations would replace global types of the whole program, such as that of `Array.at` by one that is never undefined. */
const COMPILER: string = 'assemblyscript/asc';

interface Kernel {
  /** File in this folder. */
  readonly source: string;
  /** The module that holds its binary, from the root. */
  readonly target: string;
  /** What that module exports. */
  readonly constant: string;
}

/** Compiles row-kernel.as into the module that holds its binary. */
export const generateRowKernel: Generator = () =>
  compiled({
    source: 'row-kernel.as',
    target: 'src/results/scanner/row-kernel-binary.ts',
    constant: 'ROW_KERNEL_BINARY',
  });

/** Compiles quote-kernel.as into the module that holds its binary. */
export const generateQuoteKernel: Generator = () =>
  compiled({
    source: 'quote-kernel.as',
    target: 'src/health/gather/quote-kernel-binary.ts',
    constant: 'QUOTE_KERNEL_BINARY',
  });

/** Compiles column-kernel.as into the module that holds its binary. */
export const generateColumnKernel: Generator = () =>
  compiled({
    source: 'column-kernel.as',
    target: 'src/results/export/columns/column-kernel-binary.ts',
    constant: 'COLUMN_KERNEL_BINARY',
  });

async function compiled(kernel: Kernel): Promise<Map<string, string>> {
  const source = await readFile(new URL(kernel.source, import.meta.url), 'utf8');
  let binary: Uint8Array | undefined;
  const compiler = (await import(COMPILER)) as Compiler;
  const { error } = await compiler.main(
    [
      'kernel.ts',
      '--outFile',
      'out.wasm',
      '-O3',
      '--noAssert',
      '--runtime',
      'stub',
      '--initialMemory',
      '6',
      '--enable',
      'simd',
      '--use',
      'abort=',
    ],
    {
      // The compiler requires the extension .ts, but the type checker would check such files as TypeScript.
      readFile: (name) => (name === 'kernel.ts' ? source : null),
      writeFile: (_name, contents) => {
        if (typeof contents !== 'string') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined) throw new Error(`${kernel.source} does not compile`, { cause: error });
  const lines =
    Buffer.from(binary)
      .toString('base64')
      .match(/.{1,110}/g) ?? [];
  const module = [
    `// Written by tools/generate/kernels.ts from tools/generate/${kernel.source} (\`make generate\`). Do not edit.`,
    `// ${binary.length} bytes of WebAssembly.`,
    `export const ${kernel.constant} = [`,
    ...lines.map((line) => `  '${line}',`),
    "].join('');",
    '',
  ];
  return new Map([[kernel.target, module.join('\n')]]);
}
