/// <reference types="@fastify/swagger" />
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { FastifyInstance } from 'fastify';
import { Type } from 'typebox';
import { ErrorBody, HttpError } from '../server/errors.ts';
import { prepareResponse, sendPrepared } from '../server/prepared-response.ts';
import { readAssets } from './assets.ts';
import type { CallerDirectory } from './caller-view.ts';
import { registerOidcSignIn, type OidcSignIn } from './oidc-sign-in.ts';
import { registerSessionContext, type InstallationLabel } from './session-context.ts';
import { recordSignIns } from './sign-in-records.ts';
import { endSession, openSession } from '../server/authentication/session-cookie.ts';

export interface UiOptions {
  /** Output folder of `web/build.ts`: index.html and assets/. */
  readonly folder: string;
  /** Sign-in with an identity provider; undefined where only tokens are accepted. */
  readonly oidc: OidcSignIn | undefined;
  readonly label: InstallationLabel;
  readonly directory: CallerDirectory;
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

/** The dashboard at `/ui/`, the redirect from `/`, and the session routes. */
export async function ui(app: FastifyInstance, options: UiOptions): Promise<void> {
  const page = await prepareResponse(await readFile(join(options.folder, 'index.html')), {
    'content-type': 'text/html; charset=utf-8',
    'content-security-policy': CONTENT_SECURITY_POLICY,
    'cache-control': 'no-cache',
    'referrer-policy': 'no-referrer',
  });
  const assets = await readAssets(join(options.folder, 'assets'));

  const publicRoute = { config: { public: true }, schema: { hide: true } };
  app.get<{ Params: { '*': string } }>('/ui/assets/*', publicRoute, (request, reply) => {
    const asset = assets.get(request.params['*']);
    return asset === undefined ? reply.callNotFound() : sendPrepared(request, reply, asset);
  });
  app.get('/', publicRoute, (_request, reply) => reply.redirect('/ui/', 302));
  for (const url of ['/ui', '/ui/*']) app.get(url, publicRoute, (request, reply) => sendPrepared(request, reply, page));

  recordSignIns(app);
  app.post(
    '/ui/session',
    {
      schema: {
        operationId: 'openSession',
        'x-docs': { ok: 'The session is open. The body is empty.' },
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
        'x-docs': { ok: 'The session has ended. The body is empty.' },
        tags: ['dashboard'],
        summary: 'Ends the session of the dashboard.',
        response: { 204: Type.Null({ description: 'The session has ended.' }) },
      },
    },
    async (request, reply) => {
      await endSession(request, reply);
      return reply.code(204).send();
    },
  );
  registerOidcSignIn(app, options.oidc);
  registerSessionContext(app, options);
}
