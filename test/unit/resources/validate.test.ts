import { describe, expect, it } from 'vitest';
import { CUSTOM_KINDS, type ResourceKind } from '../../../src/resources/kinds.ts';
import { describeErrors, validateResource } from '../../../src/resources/validate.ts';
import { clusterHealthReport, policy, role, roleAssignment, secret, serviceToken } from '../../builders/resources.ts';

/** The errors as one line, or `ok`. */
function outcome(kind: ResourceKind, object: unknown, previous?: unknown): string {
  const result = validateResource(kind, object, previous as never);
  return result.ok ? 'ok' : describeErrors(result.errors);
}

/** A policy whose only statement has these fields. */
function statement(fields: object): object {
  return { ...policy('p'), spec: { statements: [{ effect: 'allow', resources: ['*'], ...fields }] } };
}

describe('a valid object', () => {
  it('is accepted for every kind', () => {
    const good = [policy('p'), role('r'), roleAssignment('a'), serviceToken('t'), clusterHealthReport('cluster')];
    expect(good.map((object) => object.kind)).toEqual(CUSTOM_KINDS);
    for (const object of [...good, secret('s')]) expect(outcome(object.kind, object)).toBe('ok');
  });

  it('is returned with its defaults; the argument is not changed', () => {
    const given = { ...policy('p'), spec: { statements: [{ resources: ['*'] }] } };
    const result = validateResource('Policy', given);
    expect(result).toMatchObject({ ok: true, value: { spec: { statements: [{ effect: 'deny', resources: ['*'] }] } } });
    expect(given.spec.statements[0]).toEqual({ resources: ['*'] });
  });

  it('needs no spec if all its fields are optional', () => {
    const { apiVersion, kind, metadata } = role('r');
    expect(validateResource('Role', { apiVersion, kind, metadata })).toMatchObject({ ok: true, value: { spec: {} } });
    expect(outcome('Policy', { apiVersion, kind: 'Policy', metadata })).toContain('spec');
  });

  it('keeps unknown metadata', () => {
    const object = { ...role('r'), metadata: { name: 'r', selfLink: '/x', labels: { team: 'data' } } };
    expect(validateResource('Role', object)).toMatchObject({ ok: true, value: { metadata: object.metadata } });
  });
});

describe('a policy as a whole', () => {
  const many = (count: number, fields: object): object => ({
    ...policy('p'),
    spec: { statements: Array.from({ length: count }, () => ({ effect: 'allow', resources: ['*'], ...fields })) },
  });
  const list = (count: number): string[] => Array.from({ length: count }, () => 'Query');

  it('has limits on the actions and resources of all statements together', () => {
    expect(outcome('Policy', many(8, { actions: list(256) }))).toBe('ok');
    expect(outcome('Policy', many(9, { actions: list(228) }))).toBe(
      'all statements together may list at most 2048 actions: split the policy',
    );
    expect(outcome('Policy', many(9, { resources: list(228).map(() => 'srn2:table#t') }))).toBe(
      'all statements together may list at most 2048 resources: split the policy',
    );
    expect(outcome('Policy', many(1000, {}))).toBe('ok');
  });

  it('is truncated in messages', () => {
    const nested = { a: [1, 'x', null, { b: true }], c: 'y'.repeat(100_000) };
    expect(outcome('Policy', statement({ effect: nested }))).toContain(
      `effect: \`{"a":[1,"x",null,{"b":true}],"c":"${'y'.repeat(43)}…\` is`,
    );
    expect(outcome('Policy', statement({ effect: [[], {}, 'z'] }))).toContain('effect: `[[],{},"z"]` is');
  });
});

describe('the message of an invalid object', () => {
  it.each<[string, ResourceKind, unknown]>([
    ['spec.statements[0].effect: `permit` is not one of allow, deny', 'Policy', statement({ effect: 'permit' })],
    ['spec.statements[0].action: unknown field; did you mean `actions`?', 'Policy', statement({ action: ['Query'] })],
    [
      'spec.statements[0].conditions.rowFilter: unknown field; did you mean `rowFilters`?',
      'Policy',
      statement({ conditions: { rowFilter: ['a = 1'] } }),
    ],
    [
      'a statement with `conditions` must have the effect `allow` and the single action `Query`',
      'Policy',
      statement({ effect: 'deny', conditions: { rowFilters: ['a = 1'] } }),
    ],
    [
      'spec.statements[0].conditions.columns.allow[0]: `t.a` must be the name of a column, without its table and without spaces, such as `mail`',
      'Policy',
      statement({ conditions: { columns: { allow: ['t.a'] } } }),
    ],
    [
      'spec.statements[0].resources[0]: `srn:table` must be `*` or a resource name such as `srn2:table#events`',
      'Policy',
      statement({ resources: ['srn:table'] }),
    ],
    ['spec.statements[0].actions: must have at least one entry', 'Policy', statement({ actions: [] })],
    ['spec.statements[0].actions: `Query` is a string, but must be a list', 'Policy', statement({ actions: 'Query' })],
    [
      'metadata.name: `Data Engineers` must consist of lower-case letters, digits, `-` and `.`, and begin and end with a letter or digit, such as `data-engineers`',
      'Role',
      { ...role('r'), metadata: { name: 'Data Engineers' } },
    ],
    [
      'metadata.name: is too long: the maximum is 253 characters, it has 254',
      'Role',
      { ...role('r'), metadata: { name: 'r'.repeat(254) } },
    ],
    [
      'metadata.name: is required: every object needs a name, such as `data-engineers`',
      'Role',
      { ...role('r'), metadata: {} },
    ],
    [
      'apiVersion: `olapwarden.io/v1` is not one of olapwarden.io/v1beta1',
      'Role',
      { ...role('r'), apiVersion: 'olapwarden.io/v1' },
    ],
    ['kind: `Policy` is not one of Role', 'Role', { ...role('r'), kind: 'Policy' }],
    [
      'spec.policies: contains `a` twice: entries must be unique',
      'Role',
      { ...role('r'), spec: { policies: ['a', 'a'] } },
    ],
    [
      'spec.policies: has too many entries: the maximum is 256, it has 257',
      'Role',
      { ...role('r'), spec: { policies: Array.from({ length: 257 }, (_, index) => `p${index}`) } },
    ],
    [
      'spec.subjects: contains two entries with type `group`, name `data`: entries must be unique',
      'RoleAssignment',
      roleAssignment('a', {
        subjects: [
          { type: 'group', name: 'data' },
          { type: 'group', name: 'data' },
        ],
      }),
    ],
    [
      'spec.subjects[0].name: ` x` must not begin or end with a space or contain a line break',
      'RoleAssignment',
      roleAssignment('a', { subjects: [{ type: 'group', name: ' x' }] }),
    ],
    [
      'spec.expiresAt: `tomorrow` is not an RFC 3339 time with a zone, such as `2030-12-31T23:59:59Z`',
      'ServiceToken',
      serviceToken('t', { expiresAt: 'tomorrow' }),
    ],
    ['spec.secretName: must not be empty', 'ServiceToken', serviceToken('t', { secretName: '' })],
    [
      'spec.maxFindings: `0` is too small: the minimum is 1',
      'ClusterHealthReport',
      clusterHealthReport('cluster', { maxFindings: 0 }),
    ],
    [
      'spec.interval: `soon` must be a duration such as `20m` or `1h30m`',
      'ClusterHealthReport',
      clusterHealthReport('cluster', { interval: 'soon' }),
    ],
    [
      'spec.interval and spec.schedule are mutually exclusive: set only one',
      'ClusterHealthReport',
      clusterHealthReport('cluster', { interval: '20m', schedule: '0 * * * *' }),
    ],
    ['`null` is null, but must be an object', 'Role', null],
  ])('%s', (message, kind, object) => {
    const said = outcome(kind, object);
    expect(said.startsWith(message) ? message : said).toBe(message);
  });

  it('has all errors', () => {
    const said = outcome('Policy', statement({ effect: 'permit', resources: [] }));
    expect(said).toBe(
      'spec.statements[0].effect: `permit` is not one of allow, deny; spec.statements[0].resources: must have at least one entry',
    );
  });

  it('has the number of errors that it omits', () => {
    const result = validateResource('Policy', statement({ resources: Array.from({ length: 50 }, () => 'x y') }));
    expect(result.ok).toBe(false);
    if (result.ok) return;
    expect(result.errors).toHaveLength(21);
    expect(result.errors.at(-1)).toEqual({ path: '', message: 'and 30 more errors' });
  });

  it('never contains a value of a Secret', () => {
    const said = outcome('Secret', { ...secret('s'), data: { hash: 123456 } });
    expect(said).toBe('data.hash: the value is a number, but must be a string');
  });
});

describe('immutable fields', () => {
  it('rejects another role in an assignment', () => {
    expect(outcome('RoleAssignment', roleAssignment('a', { role: 'x' }), roleAssignment('a', { role: 'y' }))).toBe(
      'spec.role is immutable: delete this RoleAssignment and create one for the other role',
    );
    expect(outcome('RoleAssignment', roleAssignment('a', { role: 'x' }), roleAssignment('a', { role: 'x' }))).toBe(
      'ok',
    );
  });

  it.each([
    ['a', 'b'],
    ['a', undefined],
    [undefined, 'b'],
  ])('rejects a change of secretName from %s to %s', (before, after) => {
    const make = (secretName: string | undefined): object => serviceToken('t', secretName ? { secretName } : {});
    expect(outcome('ServiceToken', make(after), make(before))).toMatch(/^spec.secretName is immutable/);
    expect(outcome('ServiceToken', make(before), make(before))).toBe('ok');
  });
});
