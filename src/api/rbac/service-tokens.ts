/// <reference types="@fastify/swagger" />
import { ROLE, TOKEN, SECRET_KEY, ofToken } from './examples.ts';
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import { nameOf as nameOfObject } from '../../access/manager/list-part.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import type { TokenView } from '../../access/manager/views.ts';
import { tokenUsageKey } from '../../access/usage/usage-keys.ts';
import { serviceTokenResource } from '../../access/policy/srn.ts';
import { requireAllowed } from '../server/context.ts';
import { HONOURS_IF_MATCH, ifMatchOf, sendTagged } from './conditional.ts';
import { CreateServiceTokenRequest, IssuedServiceToken, ServiceToken, TokenParams } from './schemas/service-tokens.ts';
import { ListQuery } from './schemas/shared.ts';
import { sendList } from './lists.ts';
import { write } from '../server/audited-write.ts';
import { responsesOf, Empty, listOf, nameFrom, nameFromPath } from './support.ts';

interface ByToken {
  Params: { tokenSrn: string };
}

/** A new token has no name yet, so creation needs the permission on all tokens. */
const ANY_TOKEN = serviceTokenResource('*');

const describe = (operationId: string, summary: string) => ({ operationId, summary, tags: ['service-tokens'] });

export function serviceTokenRoutes(app: FastifyInstance, manager: RbacManager): void {
  const { serviceTokens } = manager;
  const withLastUse = (view: TokenView) => {
    // A view has the name of its object only in its SRN.
    return manager.withLastUse(view, tokenUsageKey(nameFrom('service-token', 'srn', view.srn)));
  };
  const nameOf = (request: { params: { tokenSrn: string } }): string =>
    serviceTokens.objectName(nameFromPath('service-token', 'tokenSrn', request.params.tokenSrn));

  app.post<{ Body: Static<typeof CreateServiceTokenRequest> }>(
    '/service-tokens',
    {
      schema: {
        ...describe('createServiceToken', 'Creates a service token. Only this response contains its secret.'),
        'x-docs': {
          ok: 'The new token with its secret, which is returned only here.',
          request: { description: 'Nightly report', expiresAt: '2099-01-31T00:00:00Z' },
          response: { ...TOKEN, secretKey: SECRET_KEY, bearerToken: `svc-${TOKEN.accessKey}-${SECRET_KEY}` },
          versions: 'tag',
          links: {
            getServiceToken: ofToken('getServiceToken', 'Reads the token.'),
            deleteServiceToken: ofToken('deleteServiceToken', 'Revokes the token.'),
          },
        },
        body: CreateServiceTokenRequest,
        response: responsesOf(IssuedServiceToken, 400),
      },
    },
    async (request, reply) => {
      const issued = await write(request, 'CreateServiceToken', ANY_TOKEN, () =>
        serviceTokens.create(request.principal, request.body),
      );
      void reply.header('cache-control', 'no-store');
      return sendTagged(request, reply, issued);
    },
  );

  app.get<{ Querystring: ListQuery }>(
    '/service-tokens',
    {
      schema: {
        ...describe('listServiceTokens', 'The service tokens that the caller may read, without their secrets.'),
        'x-docs': {
          ok: 'The service tokens.',
          response: [{ ...TOKEN, roles: [{ name: ROLE.name, srn: ROLE.srn }], status: 'ACTIVE' }],
        },
        querystring: ListQuery,
        response: responsesOf(listOf(ServiceToken), 400),
      },
    },
    (request, reply) =>
      sendList(request, reply, {
        find: (range) => serviceTokens.list(request.principal, range),
        keyOf: nameOfObject,
        view: (token) => withLastUse(serviceTokens.view(token)),
        schema: ServiceToken,
      }),
  );

  app.get<ByToken>(
    '/service-tokens/:tokenSrn',
    {
      schema: {
        ...describe('getServiceToken', 'One service token, without its secret.'),
        'x-docs': {
          ok: 'The service token.',
          response: { ...TOKEN, roles: [{ name: ROLE.name, srn: ROLE.srn }], status: 'ACTIVE' },
          versions: 'tag',
        },
        params: TokenParams,
        response: responsesOf(ServiceToken, 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetServiceToken', serviceTokenResource(name));
      // No 304: `roles` and `status` change without the object.
      const { version, ...body } = withLastUse(serviceTokens.get(name));
      void reply.header('etag', `"${version}"`);
      return body;
    },
  );

  app.delete<ByToken>(
    '/service-tokens/:tokenSrn',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('deleteServiceToken', 'Revokes a service token at once.'),
        'x-docs': { ok: 'The token is revoked. The body is empty.', versions: 'remove' },
        params: TokenParams,
        response: responsesOf(Empty, 400, 404, 409, 412),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const ifMatch = ifMatchOf(request);
      await write(request, 'DeleteServiceToken', serviceTokenResource(name), () =>
        serviceTokens.remove(request.principal, name, ifMatch),
      );
      return reply.send();
    },
  );
}
