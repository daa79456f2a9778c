import fc from 'fast-check';
import { expect, it } from 'vitest';
import { hashSecretKey } from '../../../../src/access/service-token.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import { policy, role, roleAssignment, serviceToken } from '../../../builders/resources.ts';
import { SEED } from '../../../support/seed.ts';
import { testGateway, type Answer, type TestGateway } from './gateway.ts';

// Two gateways that differ in one thing. A caller that may write and not read gets the same response from both, unless its call changes something
// in one of them. That a policy or a role as a whole exceeds what the caller holds is no secret: it is what containment says.

const CALLERS = 10;
const CALLS = 20;
const EVERYTHING = ['srn2:role#*', 'srn2:policy#*', 'srn2:service-token#*', 'srn2:cluster#*'];
const WRITES = ['Role', 'Policy', 'Assignment', 'ServiceToken'].flatMap((kind) => [`Create${kind}`, `Delete${kind}`]);
const RIGHTS = [...WRITES, 'UpdateRole', 'UpdatePolicy', 'UpdateServiceToken', 'AttachPolicy', 'DetachPolicy'];
const DELEGATION = ['BindPolicy', 'AssignRole', 'EscalatePolicy'];
const KEY = 'k'.repeat(16);

const statement = (effect: 'allow' | 'deny', action: string, resource: string): Statement => {
  return { effect, actions: [action], resources: [resource] };
};
const POOL: readonly Statement[] = [
  ...['a', 'b', '*'].flatMap((table) => [
    statement('allow', 'Query', `srn2:table#${table}`),
    statement('deny', 'Query', `srn2:table#${table}`),
  ]),
  statement('allow', 'GetSchema', 'srn2:table#a'),
  statement('allow', 'Query', 'srn2:table#a_OFFLINE'),
  { ...statement('allow', 'Query', 'srn2:table#a'), conditions: { rowFilters: ['x = 1'] } },
];
const statements = fc.array(fc.constantFrom(...POOL), { minLength: 1, maxLength: 3 });
const name = fc.constantFrom('first', 'second', 'none');
const subject = fc.constantFrom(
  ...['g1', 'g2', 'g3'].map((group) => ({ subject: group, subjectType: 'group' })),
  ...[KEY, 'token'].map((token) => ({ subject: token, subjectType: 'service-token' })),
);
const expiry = fc.constantFrom({}, { expiresAt: '2027-01-01T00:00:00Z' }, { expiresAt: '2028-01-01T00:00:00Z' });

interface World {
  readonly policies: readonly [first: readonly Statement[], second: readonly Statement[]];
  readonly attached: readonly string[];
  readonly member: string;
  readonly until: string | undefined;
}
const INVALID: readonly Statement[] = [statement('allow', 'Qury', 'srn2:table#a')];
const world: fc.Arbitrary<World> = fc.record({
  policies: fc.tuple(statements, fc.oneof(statements, fc.constant(INVALID))),
  attached: fc.subarray(['first', 'second']),
  member: fc.constantFrom('g1', 'g2'),
  until: fc.constantFrom(undefined, '2027-06-01T00:00:00Z'),
});
const caller = fc.record({
  rights: fc.subarray(RIGHTS, { minLength: 8 }),
  delegation: fc.oneof(
    { weight: 3, arbitrary: fc.constant<string[]>([]) },
    { weight: 1, arbitrary: fc.subarray(DELEGATION) },
  ),
  own: fc.array(fc.constantFrom(...POOL.slice(0, 7)), { maxLength: 3 }),
});

type Call = readonly [method: 'PUT' | 'POST' | 'DELETE', path: string, body?: object];
const srn = (kind: string, id: string): string => `srn2:${kind}%23${id}`;
const description = fc.constantFrom({}, { description: 'stored' });
const ofPolicies: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(name, statements).map(([id, sent]): Call => {
    return ['PUT', `/policies/${srn('policy', id)}`, { policyDocument: { version: 'v1', statements: sent } }];
  }),
  fc.tuple(name, statements, statements).map(([id, one, other]): Call => {
    const policyDocumentJson = JSON.stringify({ version: 'v1', statements: one });
    const policyDocument = { version: 'v1', statements: other };
    return ['PUT', `/policies/${srn('policy', id)}`, { policyDocumentJson, policyDocument }];
  }),
  fc.tuple(name, description).map(([id, body]): Call => ['PUT', `/policies/${srn('policy', id)}`, body]),
  name.map((id): Call => ['DELETE', `/policies/${srn('policy', id)}`]),
);
const ofRoles: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(name, description).map(([id, body]): Call => ['PUT', `/roles/${srn('role', id)}`, body]),
  fc.tuple(name, name, fc.constantFrom('attach', 'detach')).map(([id, of, verb]): Call => {
    return ['POST', `/roles/${srn('role', id)}/${verb}-policy`, { policySrn: `srn2:policy#${of}` }];
  }),
  name.map((id): Call => ['DELETE', `/roles/${srn('role', id)}`]),
);
const ofAssignments: fc.Arbitrary<Call> = fc.oneof(
  fc.tuple(name, subject, expiry).map(([id, sent, until]): Call => {
    return ['POST', `/roles/${srn('role', id)}/create-assignment`, { ...sent, ...until }];
  }),
  fc.tuple(name, subject).map(([id, sent]): Call => ['POST', `/roles/${srn('role', id)}/delete-assignment`, sent]),
  name.map((id): Call => ['PUT', `/roles/${srn('role', id)}/assignments`, []]),
  fc.constantFrom('token', KEY).map((id): Call => ['POST', `/service-tokens/${srn('service-token', id)}/rotate`, {}]),
);

/** @returns the gateway, and its calls: the response, and whether something was changed */
async function start(
  { policies, attached, member, until }: World,
  { rights, delegation, own }: fcValue<typeof caller>,
) {
  const gateway = await testGateway({
    roles: ['writer'],
    tables: { actualTables: async (names) => names, tableNames: () => ['a', 'b'] },
    schemas: { columnsOf: async () => new Set(['y']) },
  });
  const granted: Statement[] = [{ effect: 'allow', actions: rights, resources: EVERYTHING }, ...own];
  if (delegation.length > 0) granted.push({ effect: 'allow', actions: delegation, resources: EVERYTHING.slice(0, 2) });
  gateway.store.seed(
    policy('writer', { statements: granted }),
    role('writer', { policies: ['writer'] }),
    policy('first', { description: 'stored', statements: [...policies[0]] }),
    policy('second', { description: 'stored', statements: [...policies[1]] }),
    // So that both policies and both roles are in use in each world.
    role('user', { policies: ['first', 'second'] }),
    role('first', { policies: [...attached] }),
    role('second', { policies: [] }),
    roleAssignment('of-second', { role: 'second', subjects: [{ type: 'group', name: member }] }),
    roleAssignment('of-first', {
      role: 'first',
      subjects: [{ type: 'group', name: member, ...(until && { expiresAt: until }) }],
    }),
    { ...serviceToken('token'), status: { accessKey: KEY, secretHash: hashSecretKey('s') } },
  );
  return gateway;
}
type fcValue<T> = T extends fc.Arbitrary<infer V> ? V : never;

async function send(gateway: TestGateway, [method, path, body]: Call): Promise<{ text: string; changed: boolean }> {
  let changed = false;
  // The mark of a deletion that is refused is removed again.
  gateway.store.beforeWrite = (verb) => void (changed ||= verb !== 'update' || method !== 'DELETE');
  const answer: Answer = await gateway.call(method, path, body);
  const text = JSON.stringify([answer.status, answer.body, answer.headers['etag']]);
  return { text: text.replaceAll(/"timestamp":"[^"]*"/gu, ''), changed };
}

it.each<[what: string, differ: (keyof World)[], call: fc.Arbitrary<Call>, least: number]>([
  ['which statements are stored', ['policies'], ofPolicies, 50],
  ['which policies a role has', ['attached'], ofRoles, 50],
  ['who has a role, and until when', ['member', 'until'], ofAssignments, 50],
])('a caller that may write and not read does not find out %s', async (_what, differ, call, least) => {
  const calls = fc.array(call, { minLength: CALLS, maxLength: CALLS });
  const cases = fc.sample(fc.tuple(world, world, caller, calls), { numRuns: CALLERS, seed: SEED });
  let compared = 0;
  for (const [one, drawn, as, sentCalls] of cases) {
    const other = { ...one, ...Object.fromEntries(differ.map((key) => [key, drawn[key]])) };
    let gateways = [await start(one, as), await start(other, as)];
    for (const sent of sentCalls) {
      const [first, second] = await Promise.all(gateways.map((gateway) => send(gateway, sent)));
      if (first!.changed || second!.changed) {
        await Promise.all(gateways.map(({ app }) => app.close()));
        gateways = [await start(one, as), await start(other, as)];
        continue;
      }
      compared++;
      expect(second!.text, JSON.stringify({ sent, as, one, other })).toBe(first!.text);
    }
    await Promise.all(gateways.map(({ app }) => app.close()));
  }
  expect(compared).toBeGreaterThan(least);
});
