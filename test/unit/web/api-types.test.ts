import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect, it } from 'vitest';

// The types of the server's responses are generated from its schemas (web/src/lib/api-types.ts). A second declaration in the dashboard could differ.

const SOURCE = resolve(import.meta.dirname, '../../../web/src');
const GENERATED = 'lib/api-types.ts';
/** Names the generated types, and declares the responses of Pinot that the gateway only forwards. */
const NAMES = 'lib/types.ts';
const OF_PINOT = [
  'InstanceNames',
  'PinotInstance',
  'ServerMap',
  'TableConfigs',
  'TableNames',
  'TableSchema',
  'TableSize',
];

const read = (path: string): string => readFileSync(join(SOURCE, path), 'utf8');
const files = globSync('**/*.{ts,tsx}', { cwd: SOURCE }).filter((path) => path !== GENERATED);

/** Names of the properties at the first level of each object type in a source text, by the name of the type. */
function declarations(text: string): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [, name = '', body = ''] of text.matchAll(
    /^(?:export )?(?:interface|type) (\w+)[^{=\n]*(?:= )?\{\n([\s\S]*?)\n\}/gmu,
  ))
    found.set(
      name,
      Array.from(body.matchAll(/^ {2}(?:readonly )?'?([\w-]+)'?\??:/gmu), ([, property = '']) => property),
    );
  return found;
}

const generated = declarations(read(GENERATED));

it('finds the generated types', () => {
  expect(generated.get('Role')).toEqual(expect.arrayContaining(['srn', 'name', 'description', 'createdBy']));
  expect(generated.size).toBeGreaterThan(30);
});

it.each(files)('%s declares no response of the server again', (path) => {
  const again = [...declarations(read(path))].flatMap(([name, properties]) => {
    if (path === NAMES && OF_PINOT.includes(name)) return [];
    const same = [...generated].find(
      ([, theirs]) => properties.length > 2 && properties.every((property) => theirs.includes(property)),
    );
    return generated.has(name) ? [`${name} is generated`] : same ? [`${name} has the properties of ${same[0]}`] : [];
  });
  expect(again).toEqual([]);
});

it.each(files)('%s types each response by a name that comes from the schemas', (path) => {
  const text = read(path);
  const imported = new Set(
    Array.from(
      text.matchAll(
        /import type \{([^}]*)\} from '[^']*lib\/types\.ts'|import type \{([^}]*)\} from '\.\/types\.ts'/gu,
      ),
      ([, one = '', other = '']) => `${one},${other}`.split(',').map((part) => part.trim().replace(/^.* as /u, '')),
    ).flat(),
  );
  // Up to the parenthesis of the call: `call<Role[]>(`, `call<Omit<Session, 'me'>>(`.
  const used = Array.from(text.matchAll(/\bcall(?:Tagged)?<([^(]+)>\(/gu), ([, type = '']) => type)
    .filter((type) => !/^T\b/u.test(type))
    .flatMap((type) => type.replaceAll(/'[^']*'/gu, '').match(/[A-Za-z]\w*|\{/gu) ?? [])
    .filter((name) => name !== 'Omit' && name !== 'readonly');
  expect(used.filter((name) => !imported.has(name))).toEqual([]);
});

it('gives names only to generated types, to parts of them, and to responses of Pinot', () => {
  const text = read(NAMES);
  const names = Array.from(
    text.matchAll(/^export (?:type|interface) (\w+)([^]*?)(?=^export |(?![^]))/gmu),
    (match) => ({
      name: match[1] ?? '',
      text: match[2] ?? '',
    }),
  );
  const [, list = ''] = /^import type \{([^}]*)\} from '\.\/api-types\.ts'/mu.exec(text) ?? [];
  const imported = list
    .split(',')
    .map((part) => part.trim().replace(/^.* as /u, ''))
    .filter((part) => part !== '');
  expect(imported.length).toBeGreaterThan(5);
  const own = names.filter(({ text: body }) => !imported.some((name) => new RegExp(`\\b${name}\\b`, 'u').test(body)));
  // A subject is the input of a form.
  expect(own.map(({ name }) => name).toSorted()).toEqual([...OF_PINOT, 'Subject'].toSorted());
});
