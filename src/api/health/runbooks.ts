/// <reference types="@fastify/swagger" />
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { CAUSES_PAGE } from '../../health/alerts/alert-names.ts';
import { findCheck } from '../../health/catalogue.ts';
import { MARKDOWN } from './markdown.ts';
import { HttpError } from '../server/errors.ts';

export interface RunbookOptions {
  /** Folder with one Markdown file per check, and README.md as the index. */
  readonly folder: string;
}

export const RUNBOOKS_PATH = '/docs/checks';

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const INDEX = 'README';

/**
 * Serves the runbooks of the checks at `/docs/checks/<CHECK>`, so that they are available without internet access. They are public, because they
 * contain nothing about this cluster.
 */
export async function runbooks(app: FastifyInstance, { folder }: RunbookOptions): Promise<void> {
  // Bounded: one page per check, that of the causes, and the index.
  const pages = new Map<string, string>();

  async function page(name: string): Promise<string> {
    const known = pages.get(name);
    if (known !== undefined) return known;
    if (name !== INDEX && name !== CAUSES_PAGE && findCheck(name) === undefined) {
      throw new HttpError(404, `there is no check \`${name}\`; ${RUNBOOKS_PATH}/ lists them`);
    }
    const markdown = await readFile(join(folder, `${name}.md`), 'utf8');
    // Rewrite links between the files to their pages.
    const linked = markdown.replaceAll(/\]\(([A-Z0-9_]+)\.md(#[\w-]+)?\)/g, `](${RUNBOOKS_PATH}/$1$2)`);
    const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${name}</title><link rel="stylesheet" href="/docs/style.css"><main>${await MARKDOWN.parse(linked)}</main></html>`;
    pages.set(name, html);
    return html;
  }

  const publicRoute = { config: { public: true }, schema: { hide: true } };
  app.get<{ Params: { check: string } }>(`${RUNBOOKS_PATH}/:check`, publicRoute, async (request, reply) => {
    // Also accept the file name.
    const name = request.params.check.replace(/\.md$/, '');
    return reply
      .header('content-security-policy', CONTENT_SECURITY_POLICY)
      .type('text/html; charset=utf-8')
      .send(await page(name));
  });
  app.get(RUNBOOKS_PATH, publicRoute, (_request, reply) => reply.redirect(`${RUNBOOKS_PATH}/${INDEX}`, 302));
}
