import { globSync, readFileSync } from 'node:fs';
import { dirname, join, normalize } from 'node:path';
import { expect, test } from 'vitest';

/**
 * The floors of `src/app` and `src/api`: a folder imports only from folders below it, types included, so that there is no circle between folders.
 * `.oxlintrc.json` has the rules between the layers.
 */
const FLOORS = [
  ['app'],
  ['app/parts'],
  ['api'],
  ['api/docs', 'api/gateway-info', 'api/health', 'api/proxy', 'api/queries/data-plane', 'api/rbac', 'api/ui'],
  ['api/queries', 'api/rbac/schemas'],
  ['api/engine'],
  ['api/server/authentication', 'api/server/bodies', 'api/server/logs'],
  ['api/server/admission'],
  ['api/server/request'],
  ['api/server'],
];
/** Folders of `api` that serve all interfaces. Interfaces do not import each other. */
const SHARED = new Set(['engine', 'server']);
const IMPORT = /(?:from|import) '(\.[^']+)'|import\('(\.[^']+)'\)/g;

const floorOf = (folder: string): number => FLOORS.findIndex((floor) => floor.includes(folder));

function interfaceOf(folder: string): string | undefined {
  const [layer, name] = folder.split('/');
  return layer === 'api' && name !== undefined && !SHARED.has(name) ? name : undefined;
}

/** Why a file of folder `from` may not import one of folder `to`; undefined where it may. */
function problemOf(from: string, to: string): string | undefined {
  if (from === to) return undefined;
  const [above, below] = [interfaceOf(from), interfaceOf(to)];
  if (above !== undefined && below !== undefined && above !== below) return 'is another interface';
  return floorOf(from) < floorOf(to) ? undefined : 'is not below';
}

test('a folder of api and app imports only from folders below it', () => {
  const files = globSync('src/{api,app}/**/*.ts').sort();
  const unknown = new Set(files.map((file) => dirname(file).slice('src/'.length)).filter((name) => floorOf(name) < 0));
  const upward = files.flatMap((file) =>
    [...readFileSync(file, 'utf8').matchAll(IMPORT)].flatMap(([, target, loaded]) => {
      const imported = normalize(join(dirname(file), target ?? loaded ?? ''));
      if (!/^src\/(?:api|app)\//.test(imported)) return [];
      const problem = problemOf(dirname(file).slice('src/'.length), dirname(imported).slice('src/'.length));
      return problem === undefined ? [] : [`${file} imports ${imported}, which ${problem}`];
    }),
  );

  expect([...unknown]).toEqual([]);
  expect(upward).toEqual([]);
});
