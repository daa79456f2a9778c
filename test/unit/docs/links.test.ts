import { existsSync, readFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { describe, expect, it } from 'vitest';
import { PAGES, ROOT } from '../../support/documents/pages.ts';

/** Links of Markdown, without those in code. */
function linksOf(text: string): string[] {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '').replaceAll(/`[^`\n]*`/g, '');
  return [...prose.matchAll(/\]\(([^()\s]+)\)/g)].map(([, target]) => target!);
}

/** The anchors of a page, as GitHub makes them from its headings. */
function anchorsOf(text: string): Set<string> {
  const prose = text.replaceAll(/^```[\s\S]*?^```/gm, '');
  const anchors = new Set<string>();
  for (const [, heading] of prose.matchAll(/^#+ (.+)$/gm)) {
    const plain = heading!.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1').toLowerCase();
    const base = plain.replaceAll(/[^\p{L}\p{N}\s_-]/gu, '').replaceAll(/\s/g, '-');
    let anchor = base;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${base}-${n}`;
    anchors.add(anchor);
  }
  for (const [, id] of text.matchAll(/<a (?:id|name)="([^"]+)"/g)) anchors.add(id!);
  return anchors;
}

const isExternal = (link: string): boolean => /^[a-z]+:/.test(link);

/** Why a link of a page leads nowhere, or undefined. */
function problemOf(path: string, link: string): string | undefined {
  const [file, anchor] = link.split('#') as [string, string?];
  const target = file === '' ? path : join(dirname(path), decodeURIComponent(file));
  if (!existsSync(join(ROOT, target))) return 'no such file';
  if (anchor === undefined || !target.endsWith('.md')) return undefined;
  return anchorsOf(readFileSync(join(ROOT, target), 'utf8')).has(anchor) ? undefined : 'no such heading';
}

describe('the documentation', () => {
  it('has no link to a file or heading that does not exist', () => {
    expect(PAGES.flatMap(({ text }) => linksOf(text)).length).toBeGreaterThan(100);
    const problems = PAGES.flatMap(({ path, text }) =>
      linksOf(text)
        .filter((link) => !isExternal(link))
        .map((link) => ({ path, link, problem: problemOf(path, link) }))
        .filter(({ problem }) => problem !== undefined),
    );
    expect(problems).toEqual([]);
  });

  it('has no page that no other page links to', () => {
    const linked = new Set(
      PAGES.flatMap(({ path, text }) =>
        linksOf(text)
          .filter((link) => !isExternal(link) && !link.startsWith('#'))
          .map((link) => relative('.', join(dirname(path), link.split('#')[0]!)))
          .filter((target) => target !== path),
      ),
    );
    // A link to a folder shows its README, or its list of files.
    const isLinked = (path: string): boolean =>
      linked.has(path) || linked.has(dirname(path)) || linked.has(`${dirname(path)}/`);
    const unlinked = PAGES.map(({ path }) => path).filter((path) => path.startsWith('docs/') && !isLinked(path));
    expect(unlinked).toEqual([]);
  });

  it('has a source for each cell of the comparison with other programs', () => {
    const { text } = PAGES.find(({ path }) => path === 'README.md')!;
    const [, section = ''] = text.split('\n## Compared with Pinot and StarTree Cloud\n');
    const lines = section.split('\n## ')[0]!.split('\n');
    const rows = lines.filter((line) => line.startsWith('| ')).slice(1);
    expect(rows.length).toBeGreaterThan(8);
    const unproved = rows.flatMap((row) => {
      const [name = '', ...cells] = row.slice(2, -2).split(' | ');
      const sources = (lines.find((line) => line.startsWith(`- ${name}: `)) ?? '').split('; ');
      // What a page does not describe has no link: the note below the table says what that means.
      const isProved = (cell: string, source = ''): boolean =>
        /^not (?:found|compared)$/.test(cell) ? source.endsWith(cell) : /\]\((?:https:|docs\/)/.test(source);
      return cells.filter((cell, index) => !isProved(cell, sources[index])).map((cell) => `${name}: ${cell}`);
    });
    expect(unproved).toEqual([]);
  });
});
