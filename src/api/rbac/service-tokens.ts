/// <reference types="@fastify/swagger" />
import { ROLE, TOKEN, SECRET_KEY, ofToken } from './examples.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { nameOf as nameOfObject } from '../../access/manager/list-part.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import type { IssuedToken } from '../../access/manager/service-tokens.ts';
import type { TokenView } from '../../access/manager/views.ts';
import { tokenUsageKey } from '../../access/usage/usage-keys.ts';
import { formatSrn, serviceTokenResource, type Srn } from '../../access/policy/srn.ts';
import { assignmentsRight } from '../../access/readable-text.ts';
import { DEFAULT_GRACE_MS } from '../../access/service-token.ts';
import { requireAllowed } from '../server/context.ts';
import { HONOURS_IF_MATCH, ifMatchOf, sendTagged } from './conditional.ts';
import {
  CreateServiceTokenRequest,
  IssuedServiceToken,
  RotateServiceTokenRequest,
  ServiceToken,
  TokenListQuery,
  TokenParams,
} from './schemas/service-tokens.ts';
import { sendList } from './lists.ts';
import { write } from '../server/audited-write.ts';
import { responsesOf, Empty, listOf, mayRead, nameFrom, nameFromPath } from './support.ts';

interface ByToken {
  Params: { tokenSrn: string };
}

/** The token of a path, which has its name or its access key. */
interface Target {
  readonly name: string;
  readonly resource: Srn;
  readonly shown: string;
}

/** A new token has no name yet, so creation needs the permission on all tokens. */
const ANY_TOKEN = serviceTokenResource('*');

const describe = (operationId: string, summary: string) => ({ operationId, summary, tags: ['service-tokens'] });

export function serviceTokenRoutes(app: FastifyInstance, manager: RbacManager): void {
  const { serviceTokens } = manager;
  const shown = (request: FastifyRequest, view: TokenView) => {
    // Who has a role is read by `GetAssignment` on it.
    const roles = view.roles.filter(({ name }) => mayRead(request, assignmentsRight(name)));
    const omitted = roles.length < view.roles.length ? { rolesOmitted: true } : {};
    // A view has the name of its object only in its SRN.
    return manager.withLastUse(
      { ...view, roles, ...omitted },
      tokenUsageKey(nameFrom('service-token', 'srn', view.srn)),
    );
  };
  const targetOf = ({ params }: { params: ByToken['Params'] }): Target => {
    const sent = nameFromPath('service-token', 'tokenSrn', params.tokenSrn);
    const name = serviceTokens.objectName(sent);
    // A refusal names the token as the request does: which name belongs to an access key is read with the token.
    return { name, resource: serviceTokenResource(name), shown: `\`${formatSrn(serviceTokenResource(sent))}\`` };
  };

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
            rotateServiceToken: ofToken('rotateServiceToken', 'Replaces the secret of the token.'),
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

  app.get<{ Querystring: TokenListQuery }>(
    '/service-tokens',
    {
      schema: {
        ...describe('listServiceTokens', 'The service tokens that the caller may read, without their secrets.'),
        'x-docs': {
          ok: 'The service tokens.',
          response: [{ ...TOKEN, roles: [{ name: ROLE.name, srn: ROLE.srn }], status: 'ACTIVE' }],
        },
        querystring: TokenListQuery,
        response: responsesOf(listOf(ServiceToken), 400),
      },
    },
    (request, reply) => {
      const { name, description, createdBy } = request.query;
      return sendList(request, reply, {
        find: (range) => serviceTokens.list(request.principal, { ...range, name, description, createdBy }),
        keyOf: nameOfObject,
        view: (token) => shown(request, serviceTokens.view(token)),
        schema: ServiceToken,
      });
    },
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
      const { name, resource, shown: target } = targetOf(request);
      requireAllowed(request, 'GetServiceToken', resource, { shown: target });
      // No 304: `roles` and `status` change without the object.
      const { version, ...body } = shown(request, serviceTokens.get(name));
      void reply.header('etag', `"${version}"`);
      return body;
    },
  );

  rotationRoute(app, manager, targetOf);

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
      const { name, resource, shown: target } = targetOf(request);
      const ifMatch = ifMatchOf(request);
      const remove = (): Promise<void> => serviceTokens.remove(request.principal, name, ifMatch);
      await write(request, 'DeleteServiceToken', resource, remove, { shown: target });
      return reply.send();
    },
  );
}

function rotationRoute(
  app: FastifyInstance,
  { serviceTokens }: RbacManager,
  targetOf: (request: { params: ByToken['Params'] }) => Target,
): void {
  app.post<ByToken & { Body: Static<typeof RotateServiceTokenRequest> }>(
    '/service-tokens/:tokenSrn/rotate',
    {
      schema: {
        ...describe(
          'rotateServiceToken',
          'Replaces the secret of a service token. Only this response contains the new one.',
        ),
        'x-docs': {
          ok: 'The token with its new secret, which is returned only here, and until when former secrets are accepted.',
          request: { graceSeconds: 3600 },
          response: {
            ...TOKEN,
            secretKey: SECRET_KEY,
            bearerToken: `svc-${TOKEN.accessKey}-${SECRET_KEY}`,
            rotatedAt: '2026-02-01T09:30:00Z',
            formerSecrets: [{ validUntil: '2026-02-01T10:30:00Z' }],
          },
          versions: 'tag',
        },
        params: TokenParams,
        body: RotateServiceTokenRequest,
        response: responsesOf(IssuedServiceToken, 400, 404, 409),
      },
    },
    async (request, reply) => {
      const { name, resource, shown } = targetOf(request);
      const { graceSeconds = DEFAULT_GRACE_MS / 1000 } = request.body;
      // The response has the description and the author of the token.
      requireAllowed(request, 'GetServiceToken', resource, { shown });
      const rotate = (): Promise<IssuedToken> => serviceTokens.rotate(request.principal, name, graceSeconds * 1000);
      const issued = await write(request, 'UpdateServiceToken', resource, rotate, { shown });
      void reply.header('cache-control', 'no-store');
      return sendTagged(request, reply, issued);
    },
  );
}
