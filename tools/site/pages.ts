import { existsSync, globSync, readFileSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import type { Tokens } from 'marked';
import { MARKDOWN } from '../../src/api/health/markdown.ts';

/** The documents of the site, from the root of the repository. */
const DOCUMENTS = ['*.md', 'docs/**/*.md', 'charts/*/README.md', 'bench/*.md', 'test/*.md'];

/** One chapter of a page, as the search finds it. */
export interface Chapter {
  /** From the root of the site, with the anchor. */
  readonly href: string;
  readonly title: string;
  readonly text: string;
}

export interface SitePage {
  /** Path of the HTML file from the root of the site. */
  readonly path: string;
  readonly html: string;
  readonly chapters: readonly Chapter[];
}

export interface Site {
  readonly pages: readonly SitePage[];
  /** Pictures and other files that the pages link to, from the root of the repository. */
  readonly files: ReadonlySet<string>;
}

/** All documents as HTML. Links between them lead to the pages of the site. */
export function sitePages(root: string): Site {
  const documents = DOCUMENTS.flatMap((pattern) => globSync(pattern, { cwd: root })).toSorted();
  const files = new Set<string>();
  const pages = documents.map((document) => pageOf(root, document, files));
  return { pages, files };
}

/** The page of a document: the README of a folder is its index. */
function pathOf(document: string): string {
  return document.replace(/(^|\/)README\.md$/, '$1index.html').replace(/\.md$/, '.html');
}

function pageOf(root: string, document: string, files: Set<string>): SitePage {
  const path = pathOf(document);
  const tokens = MARKDOWN.lexer(readFileSync(join(root, document), 'utf8'));
  void MARKDOWN.walkTokens(tokens, (token) => {
    if (token.type === 'link' || token.type === 'image') {
      const link = token as Tokens.Link | Tokens.Image;
      link.href = hrefOf(root, document, link.href, files);
    }
  });
  const body = MARKDOWN.parser(tokens);
  const chapters = chaptersOf(path, body);
  const title = chapters[0]?.title ?? document;
  return { path, chapters, html: frame(title, relative(dirname(path), '.') || '.', body) };
}

/** The target of a link on the site. A file that is no document is copied; a folder without a README leads to the list of documents. */
function hrefOf(root: string, document: string, href: string, files: Set<string>): string {
  if (/^[a-z]+:|^#/.test(href)) return href;
  const [file = '', anchor] = href.split('#');
  const target = join(dirname(document), decodeURIComponent(file));
  const resolved =
    existsSync(join(root, target)) && statSync(join(root, target)).isDirectory() ? join(target, 'README.md') : target;
  const found = existsSync(join(root, resolved)) ? resolved : 'docs/README.md';
  if (!found.endsWith('.md')) files.add(found);
  const suffix = anchor === undefined ? '' : `#${anchor}`;
  return `${relative(dirname(pathOf(document)), found.endsWith('.md') ? pathOf(found) : found)}${suffix}`;
}

/** The text of each chapter without its markup. */
function chaptersOf(path: string, body: string): Chapter[] {
  return body
    .split(/(?=<h[1-6] id=")/)
    .map((part) => {
      const [, id = '', title = ''] = /^<h[1-6] id="([^"]*)">(.*?)<\/h/.exec(part) ?? [];
      return { href: `${path}#${id}`, title: textOf(title), text: textOf(part) };
    })
    .filter(({ title }) => title !== '');
}

function textOf(html: string): string {
  return html
    .replaceAll(/<[^>]*>/g, ' ')
    .replaceAll('&lt;', '<')
    .replaceAll('&gt;', '>')
    .replaceAll('&quot;', '"')
    .replaceAll('&#39;', "'")
    .replaceAll('&amp;', '&')
    .replaceAll(/\s+/g, ' ')
    .trim();
}

/** @param up path from the page to the root of the site */
function frame(title: string, up: string, body: string): string {
  return `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${title.replaceAll('<', '&lt;')} – olap-warden</title><link rel="stylesheet" href="${up}/style.css">
<header><nav><a href="${up}/index.html">olap-warden</a> <a href="${up}/docs/index.html">All pages</a></nav><form role="search" data-up="${up}"><label>Search <input type="search" autocomplete="off"></label></form></header>
<ol id="found" hidden></ol><main>${body}</main><script src="${up}/chapters.js"></script><script src="${up}/search.js"></script></html>`;
}
