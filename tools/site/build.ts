// `make docs`: writes the documents as HTML with a search to a folder. The pages need no server and no request to elsewhere.
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { STYLE } from '../../src/api/docs/page.ts';
import { sitePages } from './pages.ts';

const ROOT = resolve(import.meta.dirname, '../..');

/** Writes the site. The folder is replaced. @returns the number of pages */
export function buildSite(folder: string): number {
  const { pages, files } = sitePages(ROOT);
  rmSync(folder, { recursive: true, force: true });
  const write = (path: string, text: string): void => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };
  for (const { path, html } of pages) write(path, html);
  for (const file of files) cpSync(join(ROOT, file), join(folder, file));
  write('style.css', STYLE);
  write('chapters.js', `const CHAPTERS = ${JSON.stringify(pages.flatMap(({ chapters }) => chapters))};\n`);
  cpSync(join(import.meta.dirname, 'search.js'), join(folder, 'search.js'));
  return pages.length;
}

if (import.meta.main) {
  const folder = resolve(process.argv[2] ?? 'build/site');
  process.stdout.write(`${buildSite(folder)} pages in ${folder}: open ${join(folder, 'index.html')}\n`);
}
