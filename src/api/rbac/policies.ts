/// <reference types="@fastify/swagger" />
import { DOCUMENT, ROLE, SUMMARY, POLICY, POLICY_LINKS } from './examples.ts';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Static } from 'typebox';
import { nameOf as nameOfObject } from '../../access/manager/list-part.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import { policySummary, type PolicyView, roleView } from '../../access/manager/views.ts';
import { readRight } from '../../access/readable-text.ts';
import { policyResource } from '../../access/policy/srn.ts';
import { requireAllowed } from '../server/context.ts';
import { HONOURS_IF_MATCH, ifMatchOf, sendTagged } from './conditional.ts';
import { createOrReplace } from './create-or-replace.ts';
import {
  CreatePolicyRequest,
  Policy,
  PolicyParams,
  PolicySummary,
  UpdatePolicyRequest,
  WrittenPolicy,
} from './schemas/policies.ts';
import { Role } from './schemas/roles.ts';
import { ListQuery, NamedListQuery } from './schemas/shared.ts';
import { sendList } from './lists.ts';
import { write } from '../server/audited-write.ts';
import {
  responsesOf,
  Empty,
  listOf,
  mayRead,
  nameFromPath,
  POLICY_BODY_BYTES,
  newOf,
  requireSameSrn,
  writtenView,
} from './support.ts';

interface ByPolicy {
  Params: { policySrn: string };
}

const nameOf = (request: { params: { policySrn: string } }): string =>
  nameFromPath('policy', 'policySrn', request.params.policySrn);
const describe = (operationId: string, summary: string) => ({ operationId, summary, tags: ['policies'] });

export function policyRoutes(app: FastifyInstance, manager: RbacManager): void {
  const { policies } = manager;
  const withWarnings = async ({ principal }: FastifyRequest, view: PolicyView) => {
    const warnings = await manager.policyWarnings(principal, view.policyDocument);
    return warnings.length === 0 ? view : { ...view, warnings };
  };
  app.get<{ Querystring: NamedListQuery }>(
    '/policies',
    {
      schema: {
        ...describe('listPolicies', 'The policies that the caller may read, by name.'),
        'x-docs': { ok: 'The policies.', response: [SUMMARY] },
        querystring: NamedListQuery,
        response: responsesOf(listOf(PolicySummary), 400),
      },
    },
    (request, reply) =>
      sendList(request, reply, {
        find: (range) => policies.list(request.principal, { ...range, name: request.query.name }),
        keyOf: nameOfObject,
        view: policySummary,
        schema: PolicySummary,
      }),
  );

  app.post<{ Body: Static<typeof CreatePolicyRequest> }>(
    '/policies',
    {
      bodyLimit: POLICY_BODY_BYTES,
      schema: {
        ...describe('createPolicy', 'Creates a policy from a policy document.'),
        'x-docs': {
          ok: 'The new policy.',
          request: { name: SUMMARY.name, description: SUMMARY.description, policyDocument: DOCUMENT },
          response: POLICY,
          versions: 'tag',
          links: POLICY_LINKS,
        },
        body: CreatePolicyRequest,
        response: responsesOf(Policy, 400, 409),
      },
    },
    async (request, reply) => {
      const created = await write(request, 'CreatePolicy', policyResource(request.body.name), () =>
        policies.create(request.principal, request.body),
      );
      return sendTagged(request, reply, await withWarnings(request, created));
    },
  );

  app.get<ByPolicy>(
    '/policies/:policySrn',
    {
      schema: {
        ...describe('getPolicy', 'One policy with its document.'),
        'x-docs': { ok: 'The policy with its document.', response: POLICY, versions: 'read' },
        params: PolicyParams,
        response: responsesOf(Policy, 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetPolicy', policyResource(name));
      return sendTagged(request, reply, policies.get(name));
    },
  );

  app.get<ByPolicy & { Querystring: ListQuery }>(
    '/policies/:policySrn/roles',
    {
      schema: {
        ...describe('listPolicyRoles', 'The roles with a policy that the caller may read, by name.'),
        'x-docs': { ok: 'The roles with the policy.', response: [ROLE] },
        params: PolicyParams,
        querystring: ListQuery,
        response: responsesOf(listOf(Role), 400, 404),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireAllowed(request, 'GetPolicy', policyResource(name));
      return sendList(request, reply, {
        find: (range) => policies.roles(request.principal, name, range),
        keyOf: nameOfObject,
        view: roleView,
        schema: Role,
      });
    },
  );

  app.put<ByPolicy & { Body: Static<typeof UpdatePolicyRequest> }>(
    '/policies/:policySrn',
    {
      ...HONOURS_IF_MATCH,
      bodyLimit: POLICY_BODY_BYTES,
      schema: {
        ...describe(
          'updatePolicy',
          'Creates a policy, or replaces the description and the document of an existing one, of which absent fields stay unchanged. Idempotent.',
        ),
        'x-docs': {
          ok: 'The policy, changed or as it was.',
          request: { policyDocument: DOCUMENT },
          response: POLICY,
          created: { ok: 'The new policy.', response: POLICY },
          versions: 'put',
          links: { getPolicy: POLICY_LINKS.getPolicy, deletePolicy: POLICY_LINKS.deletePolicy },
        },
        params: PolicyParams,
        body: UpdatePolicyRequest,
        response: { ...responsesOf(WrittenPolicy, 400, 404, 409, 412), 201: WrittenPolicy },
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      requireSameSrn('policy', name, request.body.srn);
      const { principal, body } = request;
      const written = await createOrReplace(request, reply, {
        kind: 'Policy',
        name,
        resource: policyResource(name),
        version: () => policies.version(name),
        create: () => policies.create(principal, newOf(name, body), { likeUpdate: true }),
        update: (ifMatch) => policies.update(principal, name, body, ifMatch),
      });
      const right = readRight('Policy', name);
      // Warnings name what the document names.
      const view = mayRead(request, right) ? await withWarnings(request, written) : written;
      return sendTagged(request, reply, writtenView(request, right, view));
    },
  );

  app.delete<ByPolicy>(
    '/policies/:policySrn',
    {
      ...HONOURS_IF_MATCH,
      schema: {
        ...describe('deletePolicy', 'Deletes a policy that no role has.'),
        'x-docs': { ok: 'The policy is deleted. The body is empty.', versions: 'remove' },
        params: PolicyParams,
        response: responsesOf(Empty, 400, 404, 409, 412),
      },
    },
    async (request, reply) => {
      const name = nameOf(request);
      const ifMatch = ifMatchOf(request);
      await write(request, 'DeletePolicy', policyResource(name), () => policies.remove(name, ifMatch));
      return reply.send();
    },
  );
}
