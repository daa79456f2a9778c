// @module-tag slow
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { buildSite } from '../../../tools/site/build.ts';

describe('the documents as HTML', () => {
  let folder: string;
  let pages: { path: string; html: string }[];
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'olap-warden-site-'));
    buildSite(folder);
    pages = readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.html'))
      .map((path) => ({ path, html: readFileSync(join(folder, path), 'utf8') }));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('link to files and chapters of the site, and load nothing from elsewhere', () => {
    expect(pages.length).toBeGreaterThan(80);
    const ids = new Map(pages.map(({ path, html }) => [path, new Set(html.match(/(?<= id=")[^"]*/g))]));
    const wrong = pages.flatMap(({ path, html }) =>
      [...html.matchAll(/<(a|img|script|link)[^>]* (?:href|src)="([^"]*)"/g)]
        .filter(([, element, target = '']) => {
          if (/^[a-z]+:/.test(target)) return element !== 'a';
          const [file = '', anchor] = target.split('#');
          const to = file === '' ? path : join(dirname(path), decodeURIComponent(file));
          return !existsSync(join(folder, to)) || (anchor !== undefined && ids.get(to)?.has(anchor) === false);
        })
        .map(([, , target]) => `${path}: ${target}`),
    );
    expect(wrong).toEqual([]);
  });

  it('have a search over the chapters', () => {
    const found: unknown[] = [];
    const element = {
      hidden: true,
      dataset: { up: '.' },
      value: '',
      replaceChildren: (...all: unknown[]) => found.splice(0, found.length, ...all),
    };
    const listeners: Record<string, () => void> = {};
    const input = {
      ...element,
      value: 'Rotation  GRACE',
      addEventListener: (name: string, call: () => void) => (listeners[name] = call),
    };
    const form = { dataset: { up: '.' }, querySelector: () => input, addEventListener: () => undefined };
    const document = {
      querySelector: (selector: string) => (selector.startsWith('form') ? form : element),
      createElement: () => ({
        append(this: { child?: unknown }, child: unknown) {
          this.child = child;
        },
      }),
    };
    const scripts = ['chapters.js', 'search.js'].map((name) => readFileSync(join(folder, name), 'utf8')).join('\n');
    runInNewContext(scripts, { document });
    listeners['input']?.();
    const links = found.map((item) => (item as { child: { href: string } }).child.href);
    expect(links).toContain('./docs/rbac.html#rotation');
    expect(links.length).toBeLessThanOrEqual(20);
  });
});
