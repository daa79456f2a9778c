import { resolve } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { causeAlertName, causeRunbook } from '../../../../src/health/alerts/alert-names.ts';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';
import { runbooks } from '../../../../src/api/health/runbooks.ts';
import { CAUSE_KINDS } from '../../../../src/resources/health-cause.ts';
import { testApp } from '../../../support/app.ts';

const NO_CREDENTIAL = { authorization: '' };
let app: FastifyInstance;
beforeAll(async () => {
  app = await testApp({ register: (scope) => runbooks(scope, { folder: resolve('docs/checks') }) });
});
afterAll(() => app.close());

describe('the runbooks', () => {
  it('are public, one for each check', async () => {
    for (const { name } of CATALOGUE) {
      const answer = await app.inject({ url: `/docs/checks/${name}`, headers: NO_CREDENTIAL });
      expect(answer.statusCode, name).toBe(200);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.body).toContain(`>${name}</h1>`);
      expect(answer.body).toContain('<h2 id="mitigation">Mitigation</h2>');
    }
  });

  it('have a page of the causes, with a chapter for each alert of a cause', async () => {
    const page = await app.inject({ url: '/docs/checks/CAUSES', headers: NO_CREDENTIAL });
    expect(page.statusCode).toBe(200);
    for (const kind of CAUSE_KINDS) {
      expect(page.body).toContain(causeAlertName(kind));
      const [, chapter] = causeRunbook(kind).split('#');
      expect(page.body).toContain(`<h2 id="${chapter}">`);
    }
  });

  it('have an index with links to them', async () => {
    expect((await app.inject({ url: '/docs/checks/', headers: NO_CREDENTIAL })).headers.location).toBe(
      '/docs/checks/README',
    );
    const index = await app.inject({ url: '/docs/checks/README', headers: NO_CREDENTIAL });
    for (const { name } of CATALOGUE) expect(index.body).toContain(`href="/docs/checks/${name}"`);
  });

  it.each([
    ['NO_SUCH_CHECK', 404],
    ['..%2F..%2Fpackage.json', 400],
    ['constructor', 404],
  ])('give no access to other files: %s', async (name, status) => {
    const answer = await app.inject({ url: `/docs/checks/${name}`, headers: NO_CREDENTIAL });
    expect(answer.statusCode).toBe(status);
    expect(answer.json()).toMatchObject({ status });
  });
});
