/// <reference types="@fastify/swagger" />
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { marked } from 'marked';
import { findCheck } from '../../health/catalogue.ts';
import { HttpError } from '../errors.ts';

export interface RunbookOptions {
  /** Folder with one Markdown file a check, and README.md over them. */
  readonly folder: string;
}

export const RUNBOOKS_PATH = '/docs/checks';

const CONTENT_SECURITY_POLICY =
  "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

const INDEX = 'README';

/**
 * The runbooks of the checks for people, at `/docs/checks/<CHECK>`, so that who is paged reads them where the cluster is, with no way to
 * the outside. Public, as all documentation is: they say nothing about this cluster.
 */
export async function runbooks(app: FastifyInstance, { folder }: RunbookOptions): Promise<void> {
  // One page a check and the index: as many as there are, no more.
  const pages = new Map<string, string>();

  async function page(name: string): Promise<string> {
    const known = pages.get(name);
    if (known !== undefined) return known;
    if (name !== INDEX && findCheck(name) === undefined) {
      throw new HttpError(404, `there is no check \`${name}\`; ${RUNBOOKS_PATH}/ lists them`);
    }
    const markdown = await readFile(join(folder, `${name}.md`), 'utf8');
    // Links between the files lead to each other's pages.
    const linked = markdown.replaceAll(/\]\(([A-Z0-9_]+)\.md(#[\w-]+)?\)/g, `](${RUNBOOKS_PATH}/$1$2)`);
    const html = `<!doctype html><html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><title>${name}</title><link rel="stylesheet" href="/docs/style.css"><main>${await marked.parse(linked)}</main></html>`;
    pages.set(name, html);
    return html;
  }

  const open = { config: { public: true }, schema: { hide: true } };
  app.get<{ Params: { check: string } }>(`${RUNBOOKS_PATH}/:check`, open, async (request, reply) => {
    // What a person copies out of a file name works too.
    const name = request.params.check.replace(/\.md$/, '');
    return reply
      .header('content-security-policy', CONTENT_SECURITY_POLICY)
      .type('text/html; charset=utf-8')
      .send(await page(name));
  });
  app.get(`${RUNBOOKS_PATH}/`, open, (_request, reply) => reply.redirect(`${RUNBOOKS_PATH}/${INDEX}`, 302));
}
