import { describe, expect, it } from 'vitest';
import type { CompletionContext } from '@codemirror/autocomplete';
import { ACTIONS } from '../../../src/access/policy/actions.ts';
import { prettyJson } from '../../../web/src/lib/format.ts';
import { COMMON_ACTIONS, completePolicy, locate, unknownTables } from '../../../web/src/pages/access/policy-assist.ts';

/** The completions after the text. */
function offered(text: string): string[] {
  const word = /"[^"\n]*$/.exec(text);
  const context = {
    matchBefore: () => (word ? { from: word.index, to: text.length, text: word[0] } : null),
    state: { sliceDoc: (from: number, to: number) => text.slice(from, to) },
  };
  return completePolicy(context as unknown as CompletionContext)?.options.map(({ label }) => label) ?? [];
}

describe('completion in a policy', () => {
  it('offers values for the preceding field', () => {
    expect(offered('{"')).toContain('statements');
    expect(offered('{"version": "v1", "statements": [{"effect": "')).toEqual(['allow', 'deny']);
    expect(offered('{"effect": "allow", "actions": ["Query", "')).toContain('GetHealth');
    expect(offered('{"actions": ["Query"], "resources": ["')).toContain('srn2:table#');
    expect(offered('{"actions": ["Query"], "')).toContain('resources');
    expect(offered('{"effect": allow')).toEqual([]);
    expect(offered('{"resources": ["srn2:table#x"], "conditions": {"')).toContain('rowFilters');
    expect(offered('{"conditions": {"rowFilters": ["')).toEqual([]);
  });

  it('offers the known tables', () => {
    const context = {
      matchBefore: () => ({ from: 15, to: 16, text: '"' }),
      state: { sliceDoc: () => '{"resources": [' },
    };
    const found = completePolicy(context as unknown as CompletionContext, new Set(['orders']));
    expect(found?.options.map(({ label }) => label)).toContain('srn2:table#orders');
  });

  it('offers only actions that exist on the resources of the statement', () => {
    const statement =
      '{"effect": "deny", "resources": ["srn2:role#*"]}, {"resources": ["srn2:cluster#pinot:table#x"], "actions": ["';
    expect(offered(statement)).toEqual(expect.arrayContaining(['Query', 'Get*', 'DeleteSegment']));
    for (const action of ['GetHealth', 'CreateRole']) expect(offered(statement)).not.toContain(action);
    expect(offered('{"resources": ["*"], "actions": ["')).toEqual(expect.arrayContaining(['Query', 'CreateRole']));
  });

  it('offers existing actions', () => {
    const known = new Set<string>(ACTIONS);
    expect(COMMON_ACTIONS.filter((action) => !action.includes('*') && !known.has(action))).toEqual([]);
  });
});

describe('the position in an error message', () => {
  const text = prettyJson({
    version: 'v1',
    statements: [
      { effect: 'allow', actions: ['Query'], resources: ['*'] },
      { effect: 'deny', actions: ['Qurey'], resources: ['*'] },
    ],
  });

  it('is found in the text', () => {
    const [found, ...others] = locate(text, '`statements[1].actions[0]`: there is no action `Qurey`');
    expect(others).toEqual([]);
    expect(text.slice(found?.from, found?.to)).toBe('"actions": ["Qurey"],');
  });

  it('is found behind a statement with conditions, whose texts have braces', () => {
    const conditions = { rowFilters: ['a = ${subject.email}'], columns: { mask: { mail: "'{'" } } };
    const limited = prettyJson({
      statements: [
        { effect: 'allow', conditions, resources: ['y'] },
        { effect: 'deny', resources: ['x'] },
      ],
    });
    const [found] = locate(limited, 'statements[1].resources[0]: is no resource');
    expect(limited.slice(found?.from, found?.to)).toBe('"resources": ["x"]');
  });

  it('is the statement if the field is missing, and none if the statement is missing', () => {
    const [found] = locate(text, '`statements[0]`: has no field `resource`');
    expect(found?.from).toBe(text.indexOf('{', 1));
    expect(locate(text, '`statements[7].effect` is wrong')).toEqual([]);
    expect(locate(text, 'the name is taken')).toEqual([]);
  });
});

describe('formatted JSON', () => {
  it('has short lists in one line and the same content', () => {
    expect(text()).toContain('"actions": ["Query", "Get*"]');
    expect(JSON.parse(text())).toEqual(VALUE);
  });
  const VALUE = {
    actions: ['Query', 'Get*'],
    long: ['x'.repeat(60), 'y'.repeat(60)],
    odd: ['[ "a",\n "b" ]', '\\"'],
    none: [],
    n: [1],
  };
  const text = (): string => prettyJson(VALUE);
});

describe('the warnings about tables', () => {
  const text =
    '{"resources": ["srn2:table#orders", "srn2:table#ordes", "srn2:table#x_*", "srn2:table#orders_OFFLINE"]}';

  it('mark names that the caller cannot see, but no patterns', () => {
    const found = unknownTables(text, new Set(['orders']));
    expect(found.map(({ from, to }) => text.slice(from, to))).toEqual(['"srn2:table#ordes"']);
    expect(found[0]).toMatchObject({ severity: 'warning', message: 'You can see no table `ordes`.' });
  });

  it('are absent while the tables are not known', () => {
    expect(unknownTables(text, new Set())).toEqual([]);
  });
});
