import fc from 'fast-check';
import type { Statement } from '../../../src/resources/policy.ts';

/** Few names, so that random patterns and questions often match. */
const ids = fc.constantFrom(
  'prod_events',
  'prod_orders',
  'dev_events',
  'prod',
  'p',
  'events',
  'pinot',
  'other',
  'olap',
);
const idPatterns = fc.oneof(
  ids,
  fc.constantFrom('*', 'prod_*', 'prod*', '*_events', 'p*_e*s', 'dev_*', '**', 'pin*', 'p*', '*o*', 'ol*p'),
);
const kinds = fc.constantFrom('table', 'role', 'policy', 'service-token');
const kindPatterns = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom('table', 'cluster', 'environment', 'role', 'policy') },
  { weight: 1, arbitrary: fc.constantFrom('*', 't*', '*le', '*o*') },
);

export const anyAction = fc.constantFrom(
  'Query',
  'query',
  'GetTable',
  'GetSchema',
  'DeleteTable',
  'GetRole',
  'UpdateRole',
  'DetachPolicy',
  'simulateaccess',
  '*',
);
const actionPattern = fc.constantFrom(
  'Query',
  'QUERY',
  'Get*',
  '*Table',
  '*',
  'GetSchema',
  '*e*Role',
  'Delete*',
  'G*t*a*',
);

const patternText = fc.oneof(
  { weight: 1, arbitrary: fc.constant('*') },
  {
    weight: 6,
    arbitrary: fc
      .array(fc.tuple(kindPatterns, idPatterns), { minLength: 1, maxLength: 3 })
      .map((levels) => `srn2:${levels.map(([kind, id]) => `${kind}#${id}`).join(':')}`),
  },
);

export const anyStatement: fc.Arbitrary<Statement> = fc
  .record(
    {
      effect: fc.constantFrom<('allow' | 'deny')[]>('allow', 'allow', 'allow', 'deny'),
      actions: fc.array(actionPattern, { minLength: 1, maxLength: 3 }),
      resources: fc.array(patternText, { minLength: 1, maxLength: 3 }),
    },
    { requiredKeys: ['effect', 'resources'] },
  )
  .map((statement) => statement as Statement);

type Level = readonly [kind: string, id: string];

/** The levels of a requested resource: a cluster, something in it, or with its own outer levels. */
export const anyResource: fc.Arbitrary<readonly Level[]> = fc
  .tuple(
    fc.option(ids, { nil: undefined, freq: 4 }),
    fc.option(ids, { nil: undefined, freq: 3 }),
    fc.option(fc.tuple(kinds, ids), { nil: undefined, freq: 8 }),
  )
  .map(([environment, cluster, inner]) => {
    const levels: Level[] = [];
    if (environment !== undefined) levels.push(['environment', environment]);
    if (cluster !== undefined) levels.push(['cluster', cluster]);
    if (inner !== undefined) levels.push(inner);
    return levels;
  });
