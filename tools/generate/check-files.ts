import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { GeneratedFiles } from './generator.ts';

const FOLDER = 'src/health/checks';

/** `segment-count.ts` → `segmentCount` */
function exportOf(file: string): string {
  return file.replace(/\.ts$/, '').replaceAll(/-(.)/g, (_, letter: string) => letter.toUpperCase());
}

/** The list of all checks: each file of src/health/checks/ has one. */
export function generateCheckFiles(root: string): GeneratedFiles {
  const files = readdirSync(join(root, FOLDER), { withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map(({ name }) => name)
    .toSorted();
  const content = [
    `// Generated from the files of ${FOLDER}/ by \`make generate\`; do not edit.`,
    "import type { CheckDefinition } from './check.ts';",
    ...files.map((file) => `import { ${exportOf(file)} } from './checks/${file}';`),
    '',
    '/** The check of each file, by file name. */',
    'export const CHECKS: readonly CheckDefinition[] = [',
    ...files.map((file) => `  ${exportOf(file)},`),
    '];',
    '',
  ].join('\n');
  return new Map([['src/health/check-files.ts', content]]);
}
