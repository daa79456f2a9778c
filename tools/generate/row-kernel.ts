import { readFile } from 'node:fs/promises';
import { main as compile } from 'assemblyscript/asc';
import type { Generator } from './generator.ts';

const SOURCE = new URL('row-kernel.as', import.meta.url);
const TARGET = 'src/query/scanner/row-kernel-binary.ts';

/** Compiles row-kernel.as into the module that holds its binary. */
export const generateRowKernel: Generator = async () => {
  const source = await readFile(SOURCE, 'utf8');
  let binary: Uint8Array | undefined;
  const { error } = await compile(
    [
      'row-kernel.ts',
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
      // The compiler insists on the extension .ts, which the type checker would take for TypeScript.
      readFile: (name) => (name === 'row-kernel.ts' ? source : null),
      writeFile: (_name, contents) => {
        if (typeof contents !== 'string') binary = contents;
      },
      listFiles: () => [],
    },
  );
  if (error !== null || binary === undefined) throw new Error('row-kernel.as does not compile', { cause: error });
  const lines =
    Buffer.from(binary)
      .toString('base64')
      .match(/.{1,110}/g) ?? [];
  const module = [
    '// Written by tools/generate/row-kernel.ts from tools/generate/row-kernel.as (`make generate`). Do not edit.',
    `// ${binary.length} bytes of WebAssembly.`,
    'export const ROW_KERNEL_BINARY = [',
    ...lines.map((line) => `  '${line}',`),
    "].join('');",
    '',
  ];
  return new Map([[TARGET, module.join('\n')]]);
};
