import { expect, it } from 'vitest';
import { codeOf, mutantsOf } from '../../../tools/dev/mutate.ts';

const SOURCE = `// a < b && c
const text = 'a === b' + \`\${a} || b\`;
const found = list.filter((one: Map<string, number>) => one.size > 1 && !/ && /.test(text));
`;

it('mutates operators, but not comments, strings, regular expressions and type arguments', () => {
  const mutants = mutantsOf('src/x.ts', SOURCE);
  expect(mutants.map(({ line, from }) => `${line}${from}`).sort()).toEqual(['2 + ', '3 && ', '3 > ']);
  expect(codeOf(SOURCE)).toHaveLength(SOURCE.length);
});
