/// <reference types="@fastify/swagger" />
import type { FastifyInstance } from 'fastify';
import type { Static } from 'typebox';
import type { RbacManager } from '../../access/manager/manager.ts';
import { policyResource } from '../../access/policy/srn.ts';
import { requireAllowed } from '../server/context.ts';
import { CreatePolicyRequest, ListQuery, Policy, PolicyParams, PolicySummary, UpdatePolicyRequest } from './schemas.ts';
import { answers, Empty, listOf, nameFromPath, page, POLICY_BODY_BYTES, write } from './support.ts';

interface ByPolicy {
  Params: { policySrn: string };
}

const nameOf = (request: { params: { policySrn: string } }): string =>
  nameFromPath('policy', 'policySrn', request.params.policySrn);
const describe = (operationId: string, summary: string) => ({ operationId, summary, tags: ['policies'] });

export function policyRoutes(app: FastifyInstance, { policies }: RbacManager): void {
  app.get<{ Querystring: ListQuery }>(
    '/policies',
    {
      schema: {
        ...describe('listPolicies', 'The policies that the caller may read, by name.'),
        querystring: ListQuery,
        response: answers(listOf(PolicySummary), 400),
      },
    },
    async (request, reply) => page(request, reply, policies.list(request.principal), ({ name }) => name),
  );

  app.post<{ Body: Static<typeof CreatePolicyRequest> }>(
    '/policies',
    {
      bodyLimit: POLICY_BODY_BYTES,
      schema: {
        ...describe('createPolicy', 'Creates a policy from a policy document.'),
        body: CreatePolicyRequest,
        response: answers(Policy, 400, 409),
      },
    },
    (request) =>
      write(request, 'CreatePolicy', policyResource(request.body.name), () =>
        policies.create(request.principal, request.body),
      ),
  );

  app.get<ByPolicy>(
    '/policies/:policySrn',
    {
      schema: {
        ...describe('getPolicy', 'One policy with its document.'),
        params: PolicyParams,
        response: answers(Policy, 400, 404),
      },
    },
    async (request) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetPolicy', policyResource(name));
      return policies.get(name);
    },
  );

  app.put<ByPolicy & { Body: Static<typeof UpdatePolicyRequest> }>(
    '/policies/:policySrn',
    {
      bodyLimit: POLICY_BODY_BYTES,
      schema: {
        ...describe(
          'updatePolicy',
          'Replaces the description and the document of a policy; absent fields stay unchanged.',
        ),
        params: PolicyParams,
        body: UpdatePolicyRequest,
        response: answers(Policy, 400, 404, 409),
      },
    },
    (request) => {
      const name = nameOf(request);
      return write(request, 'UpdatePolicy', policyResource(name), () =>
        policies.update(request.principal, name, request.body),
      );
    },
  );

  app.delete<ByPolicy>(
    '/policies/:policySrn',
    {
      schema: {
        ...describe('deletePolicy', 'Deletes a policy that no role has.'),
        params: PolicyParams,
        response: answers(Empty, 400, 404, 409),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      await write(request, 'DeletePolicy', policyResource(name), () => policies.remove(name));
      return reply.send();
    },
  );
}
