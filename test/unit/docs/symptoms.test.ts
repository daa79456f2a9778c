import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/documents/pages.ts';

/** The rows of the table of symptoms: the text in backticks of the first column. */
function symptoms(): string[] {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  const section = page.split('\n## Troubleshooting by symptom\n')[1]?.split('\n## ')[0] ?? '';
  return [...section.matchAll(/^\| [^|`]*`([^`|]+)` \|/gm)].map(([, text]) => text!);
}

describe('the table of symptoms in docs/operations.md', () => {
  it('has texts of the source only', () => {
    // A text that continues on the next line of the source is one text, as is what a template puts in.
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .replaceAll(/\$\{[^}]*\}/g, '…')
        .replaceAll(/\\?`…\\?`/g, '…'),
    );
    const rows = symptoms();
    expect(rows.length).toBeGreaterThanOrEqual(13);
    const parts = rows.map((text) => text.split('…').filter((part) => /[a-z]{3}/.test(part)));
    expect(parts.filter((row) => row.length === 0)).toEqual([]);
    const unknown = parts.flatMap((row) =>
      row.filter((part) => !sources.some((source) => source.includes(part.trim()))),
    );
    expect(unknown).toEqual([]);
  });
});
