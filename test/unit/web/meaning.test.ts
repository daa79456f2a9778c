import { describe, expect, it } from 'vitest';
import { meaningOf, partInWords } from '../../../web/src/pages/access/meaning.ts';

type Statement = Parameters<typeof meaningOf>[0][number];
const allow = (actions: string[] | undefined, ...resources: string[]): Statement => ({
  effect: 'allow',
  ...(actions && { actions }),
  resources,
});
const deny = (actions: string[], ...resources: string[]): Statement => ({ effect: 'deny', actions, resources });

describe('what statements mean', () => {
  it.each<[Statement[], string]>([
    [[], 'Allows nothing.'],
    [[allow(['Query'], 'srn2:table#orders')], 'Allows Query on the table orders.'],
    [
      [allow(['Query', 'Get*'], 'srn2:table#orders', 'srn2:table#sales_*')],
      'Allows Query and Get* on the tables orders and sales_*.',
    ],
    [
      [
        {
          ...allow(['Query'], 'srn2:table#orders'),
          conditions: { rowFilters: ["region = 'eu'", 'a > 1'], columns: { deny: ['phone'], mask: { mail: "''" } } },
        },
      ],
      "Allows Query on the table orders (only rows where region = 'eu' and a > 1; without the columns phone; with other values for mail).",
    ],
    [[allow(undefined, '*')], 'Allows every action on everything.'],
    [[allow(['GetHealth'], 'srn2:cluster#*')], 'Allows GetHealth on all clusters.'],
    [
      [allow(['Query'], 'srn2:table#orders'), allow(['Query'], 'srn2:table#orders')],
      'Allows Query on the table orders.',
    ],
    [
      [allow(['*'], 'srn2:table#*'), deny(['Query'], 'srn2:table#customers')],
      'Allows every action on all tables, but forbids Query on the table customers, also where another role allows it.',
    ],
    [
      [deny(['Query'], 'srn2:cluster#eu:table#x')],
      'Allows nothing, and forbids Query on srn2:cluster#eu:table#x, also where another role allows it.',
    ],
    [[allow(['GetRole'], 'srn2:role#a', 'srn2:policy#b')], 'Allows GetRole on the role a, and on the policy b.'],
    [
      [allow(['Query'], ...['a', 'b', 'c', 'd', 'e', 'f'].map((name) => `srn2:table#${name}`))],
      'Allows Query on the tables a, b, c, d and 2 more.',
    ],
  ])('%j', (statements, expected) => {
    expect(meaningOf(statements)).toBe(expected);
  });

  it('stays one sentence with many statements', () => {
    const many = Array.from({ length: 40 }, (_, index) => allow(['Query'], `srn2:table#t${index}`));
    expect(meaningOf(many)).toMatch(/^Allows .*; and 35 more\.$/);
  });
});

describe('what several statements allow together', () => {
  it.each<[Parameters<typeof partInWords>[0], string]>([
    [{}, ''],
    [{ rowFilters: [["region = 'eu'", 'a > 1']] }, "only rows where region = 'eu' and a > 1"],
    [
      { rowFilters: [['a > 1', 'b'], ['c']], columns: { allow: ['a', 'b'] } },
      'only rows where (a > 1 and b) or (c); only the columns a and b',
    ],
  ])('%j', (conditions, words) => {
    expect(partInWords(conditions)).toBe(words);
  });
});
