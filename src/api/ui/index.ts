/// <reference types="@fastify/swagger" />
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import fastifyStatic from '@fastify/static';
import type { FastifyInstance, FastifyReply } from 'fastify';
import { Type } from 'typebox';
import { ErrorBody, HttpError } from '../server/errors.ts';
import { registerOidcSignIn, type OidcSignIn } from './oidc-sign-in.ts';
import { registerSessionContext, type InstallationLabel } from './session-context.ts';
import { endSession, openSession } from './session-cookie.ts';

export interface UiOptions {
  /** Output folder of `web/build.ts`: index.html and assets/. */
  readonly folder: string;
  /** Sign-in with an identity provider; undefined where only tokens are accepted. */
  readonly oidc: OidcSignIn | undefined;
  readonly label: InstallationLabel;
}

const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'self'",
  "frame-ancestors 'none'",
].join('; ');

const YEAR_SECONDS = 31_536_000;

/** The dashboard at `/ui/`, the redirect from `/`, and the session routes. */
export async function ui(app: FastifyInstance, options: UiOptions): Promise<void> {
  const page = await readFile(join(options.folder, 'index.html'), 'utf8');

  // Registered before the static plugin, which cannot set `config` on its routes.
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith('/ui/assets/')) route.config = { ...route.config, public: true };
  });
  await app.register(fastifyStatic, {
    root: join(options.folder, 'assets'),
    prefix: '/ui/assets/',
    // File names carry a hash of their content.
    maxAge: YEAR_SECONDS * 1000,
    immutable: true,
    preCompressed: true,
    decorateReply: false,
    schemaHide: true,
  });

  const sendPage = (reply: FastifyReply): FastifyReply =>
    reply
      .header('content-security-policy', CONTENT_SECURITY_POLICY)
      .header('cache-control', 'no-cache')
      .header('referrer-policy', 'no-referrer')
      .type('text/html; charset=utf-8')
      .send(page);
  const publicRoute = { config: { public: true }, schema: { hide: true } };
  app.get('/', publicRoute, (_request, reply) => reply.redirect('/ui/', 302));
  app.get('/ui', publicRoute, (_request, reply) => reply.redirect('/ui/', 302));
  app.get('/ui/*', publicRoute, (_request, reply) => sendPage(reply));

  app.post(
    '/ui/session',
    {
      schema: {
        operationId: 'openSession',
        tags: ['dashboard'],
        summary:
          'Opens a session of the dashboard: an HttpOnly, same-site cookie with the bearer token of this call, sealed by the gateway.',
        response: { 204: Type.Null({ description: 'The session is open.' }), 401: ErrorBody, 413: ErrorBody },
      },
    },
    async (request, reply) => {
      const token = /^bearer +(\S+) *$/i.exec(request.headers.authorization ?? '')?.[1];
      if (token === undefined) throw new HttpError(400, 'send the token as `Authorization: Bearer <token>`');
      await openSession(request, reply, token);
      return reply.code(204).send();
    },
  );
  app.delete(
    '/ui/session',
    {
      config: { public: true },
      bodyLimit: 1024,
      schema: {
        operationId: 'endSession',
        tags: ['dashboard'],
        summary: 'Ends the session of the dashboard.',
        response: { 204: Type.Null({ description: 'The session has ended.' }) },
      },
    },
    async (request, reply) => {
      endSession(request, reply);
      return reply.code(204).send();
    },
  );
  registerOidcSignIn(app, options.oidc);
  registerSessionContext(app, options.label);
}
