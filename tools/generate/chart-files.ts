import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { generateCrds } from './crds.ts';
import type { GeneratedFiles } from './generator.ts';

/** Copies the CRDs into the chart, because Helm cannot read files outside of it. */
export function generateChartCrds(): GeneratedFiles {
  const files = new Map<string, string>();
  for (const [path, content] of generateCrds()) {
    if (path.startsWith('crds/')) files.set(`charts/olap-warden/files/${path}`, content);
  }
  return files;
}

const CHART = 'charts/olap-warden';
const SHARED = ['rbac', 'admission'] as const;

/** Copies RBAC and admission manifests into the chart, which renames them by release. */
export async function generateChartManifests(root: string): Promise<GeneratedFiles> {
  const files = new Map<string, string>();
  for (const folder of SHARED) {
    for (const name of await readdir(join(root, 'manifests', folder))) {
      files.set(`${CHART}/files/${folder}/${name}`, await readFile(join(root, 'manifests', folder, name), 'utf8'));
    }
  }
  return files;
}

/** One row of the values table: dotted path, default, and the comment above it. */
interface ValueRow {
  readonly path: string;
  readonly value: string;
  readonly comment: string;
}

/** Parses values.yaml with its comments: a comment block belongs to the key below it. */
function readValues(text: string): ValueRow[] {
  const rows: ValueRow[] = [];
  const path: { indent: number; key: string }[] = [];
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const note = /^\s*# ?(.*)$/.exec(line);
    if (note) {
      comment.push(note[1] ?? '');
      continue;
    }
    const entry = /^(\s*)([A-Za-z]+):\s*(.*)$/.exec(line);
    if (!entry) {
      comment = [];
      continue;
    }
    const indent = (entry[1] ?? '').length;
    while (path.length > 0 && (path.at(-1)?.indent ?? 0) >= indent) path.pop();
    path.push({ indent, key: entry[2] ?? '' });
    const value = entry[3] ?? '';
    if (value !== '' || comment.length > 0)
      rows.push({ path: path.map(({ key }) => key).join('.'), value, comment: comment.join(' ') });
    comment = [];
  }
  return rows;
}

const cell = (text: string): string => text.replaceAll('|', '\\|');

/** Generates the chart's README from README.head.md and the comments of values.yaml. */
export async function generateChartReadme(root: string): Promise<GeneratedFiles> {
  const head = await readFile(join(root, CHART, 'README.head.md'), 'utf8');
  const values = readValues(await readFile(join(root, CHART, 'values.yaml'), 'utf8'));
  const rows = values.map(
    ({ path, value, comment }) => `| \`${path}\` | ${value === '' ? '' : `\`${cell(value)}\``} | ${cell(comment)} |`,
  );
  const table = ['| value | default | meaning |', '|---|---|---|', ...rows].join('\n');
  return new Map([
    [
      `${CHART}/README.md`,
      `<!-- Generated from README.head.md and values.yaml by \`make generate\`; do not edit. -->\n${head}\n## Values\n\n${table}\n`,
    ],
  ]);
}
