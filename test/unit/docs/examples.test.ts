import { spawnSync } from 'node:child_process';
import { existsSync, globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse, parseAllDocuments } from 'yaml';
import { ACCESS_TEST, readAccessTest } from '../../../src/access/tests/access-test.ts';
import { judgeSql } from '../../../src/access/sql/judge.ts';
import { PROPERTIES } from '../../../src/app/parts/properties.ts';
import { ACCESS_COMMANDS } from '../../../src/commands/access.ts';
import { parseConfig } from '../../../src/config/file.ts';
import { flagsHelp } from '../../../src/config/reference.ts';
import { SETTING_KEYS } from '../../../src/config/schema.ts';
import { BLOCKS, commandsOf, commandsWith, type Block } from '../../support/documents/blocks.ts';
import { definition, definitionsByKind } from '../../support/documents/definitions.ts';
import { ROOT } from '../../support/documents/pages.ts';

// Every fenced block of the documentation is run by a test that is named here, or its texts are compared with the code.

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** Blocks of programs: the test that runs those of a page. */
const RUN_BY: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  'CONTRIBUTING.md': {
    ts: ['test/integration/tools/add-a-check.test.ts'],
    md: ['test/integration/tools/add-a-check.test.ts'],
  },
  'docs/guides/results-in-data-frames.md': { python: ['test/e2e/guides.test.ts'] },
  'docs/paginated-queries.md': {
    python: ['test/integration/results/examples.test.ts', 'test/integration/clients/data-frames.test.ts'],
    java: ['test/integration/results/examples.test.ts'],
  },
};

/** Blocks that are neither commands nor data: a sketch of folders, excerpts of answers, generated help texts. Their number on each page. */
const TEXTS: Readonly<Record<string, number>> = {
  'docs/architecture.md': 1,
  'docs/commands.md': 7,
  // The line for Spark, which the tests do not have.
  'docs/guides/results-in-data-frames.md': 1,
  'docs/rbac.md': 1,
};

const CHECKED = new Set(['json', 'yaml', 'sh', 'console']);

const of = (...languages: string[]): Block[] => BLOCKS.filter(({ language }) => languages.includes(language));

describe('every fenced block', () => {
  it('is checked here, run by a named test, or known as a text', () => {
    expect(BLOCKS.length).toBeGreaterThan(70);
    const other = BLOCKS.filter(
      ({ path, language }) => !CHECKED.has(language) && RUN_BY[path]?.[language] === undefined,
    );
    const counts: Record<string, number> = {};
    for (const { path } of other) counts[path] = (counts[path] ?? 0) + 1;
    expect(counts).toEqual(TEXTS);
  });

  it('of a program has a test that reads its page', () => {
    for (const [page, languages] of Object.entries(RUN_BY)) {
      for (const [language, tests] of Object.entries(languages)) {
        expect(of(language).some(({ path }) => path === page)).toBe(true);
        for (const test of tests) expect(read(test)).toContain(page);
      }
    }
  });
});

describe('data', () => {
  it('in JSON can be parsed', () => {
    const wrong = of('json').flatMap(({ where, text }) => {
      try {
        JSON.parse(text);
        return [];
      } catch (error) {
        return [`${where}: ${(error as Error).message}`];
      }
    });
    expect(wrong).toEqual([]);
  });

  it('of custom resources is valid by their definitions', () => {
    const definitions = definitionsByKind();
    const documents = of('yaml').flatMap(({ where, text }) =>
      parseAllDocuments(text).map((document) => ({ where, value: document.toJS() as Record<string, unknown> })),
    );
    const resources = documents.filter(({ value }) => value['apiVersion'] !== undefined);
    expect(resources.length).toBeGreaterThanOrEqual(9);
    const wrong = resources.flatMap(({ where, value }) => {
      if (value['kind'] === ACCESS_TEST)
        return readAccessTest(value).problems.map(({ message }) => `${where}: ${message}`);
      const validate = definitions.get(`${String(value['apiVersion'])} ${String(value['kind'])}`);
      if (validate === undefined) return [`${where}: unknown kind ${String(value['kind'])}`];
      return validate(value) ? [] : [`${where}: ${JSON.stringify(validate.errors)}`];
    });
    expect(wrong).toEqual([]);
  });

  it('of settings has only keys of settings and properties', () => {
    const files = of('yaml').filter(({ path }) => path === 'docs/configuration.md' || path === 'docs/dashboard.md');
    expect(files).toHaveLength(3);
    const isKnown = (key: string): boolean => SETTING_KEYS.has(key) || PROPERTIES.keys.has(key);
    const unknown = files.flatMap(({ where, text }) =>
      parseConfig(text, where)
        .map(({ key }) => key)
        .filter((key) => !isKnown(key))
        .map((key) => `${key} (${where})`),
    );
    expect(unknown).toEqual([]);
  });

  it('of the chart is valid by the schema of its values', () => {
    const values = of('yaml').filter(({ path }) => path === 'docs/operations.md');
    expect(values).toHaveLength(1);
    for (const { where, text } of values) {
      for (const key of leaves(parse(text))) expect([where, key, hasValue(key)]).toEqual([where, key, true]);
    }
  });
});

describe('commands', () => {
  it('are valid for the shell', () => {
    const wrong = of('sh', 'console').flatMap((block) => {
      const script = commandsOf(block).join('\n').replaceAll('…', '');
      const { status, stderr } = spawnSync('bash', ['-n'], { input: `${script}\n`, encoding: 'utf8' });
      return status === 0 ? [] : [`${block.where}: ${stderr}`];
    });
    expect(wrong).toEqual([]);
  });

  it('give olap-warden flags that it has', () => {
    const helps: Record<string, string> = {
      check: read('src/commands/check-settings.ts') + read('src/commands/check.ts'),
      access: [...ACCESS_COMMANDS.values()].map(({ usage }) => usage).join(''),
    };
    const commands = commandsWith(/^(?:npx )?olap-warden /);
    expect(commands.length).toBeGreaterThanOrEqual(4);
    for (const { command } of commands) {
      const [, name = '', rest = ''] = /olap-warden ([a-z-]+)(.*)/.exec(command) ?? [];
      const help = helps[name] ?? `--config --set ${flagsHelp()}`;
      for (const [, flag] of rest.matchAll(/ --([a-z-]+)/g)) {
        const isFlag = help.includes(`--${flag!}`) || help.includes(`'${flag!}'`) || help.includes(` ${flag!}:`);
        expect([command, flag, isFlag]).toEqual([command, flag, true]);
      }
    }
  });

  it('of helm name charts and values that exist', () => {
    const commands = commandsWith(/^helm /);
    expect(commands.length).toBeGreaterThanOrEqual(8);
    for (const { command } of commands) {
      const [, chart = ''] = /^helm (?:install|upgrade) \S+ (\S+)/.exec(command) ?? [];
      expect([command, existsSync(join(ROOT, chart, 'Chart.yaml'))]).toEqual([command, true]);
      for (const [, key] of command.matchAll(/ --set ([\w.]+)=/g)) {
        expect([command, key, hasValue(key!)]).toEqual([command, key, true]);
      }
    }
  });

  it('of kubectl name kinds and files that exist', () => {
    const kinds = globSync('crds/*.yaml', { cwd: ROOT }).map((path) => definition(path).spec.names);
    const known = new Set(kinds.flatMap(({ plural, shortNames = [] }) => [plural, ...shortNames]));
    const commands = commandsWith(/^kubectl /);
    expect(commands.length).toBeGreaterThanOrEqual(12);
    for (const { command } of commands) {
      for (const [, plural] of command.matchAll(/\b([a-z]+)\.olapwarden\.io\b(?!\/[a-z-]+=)/g)) {
        expect([command, plural, known.has(plural!)]).toEqual([command, plural, true]);
      }
      const [, short] = /^kubectl (?:get|wait) (chr|o\w+)\b/.exec(command) ?? [];
      if (short !== undefined) expect([command, known.has(short)]).toEqual([command, true]);
      for (const [, file] of command.matchAll(/ -f (\S+\/\S*)/g)) {
        expect([command, existsSync(join(ROOT, file!))]).toEqual([command, true]);
      }
    }
  });

  it('of curl call routes that exist', () => {
    const routes = Object.keys((JSON.parse(read('openapi.json')) as { paths: object }).paths).map(
      (path) => new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`),
    );
    // The pages of the runbooks, and calls of the controller, which the gateway forwards; their tests run them.
    routes.push(/^\/docs\/checks\/[A-Z_]+_CHECK$/, /^\/instances\/\$\w+\/state$/);
    const called = commandsWith(/\b(?:curl|call) /).flatMap(({ where, command }) =>
      [...command.matchAll(/(?:\$GATEWAY|http:\/\/gateway:8080|\$URL)(\/[^\s"'?]*)/g)].map(([url, path]) => ({
        where,
        path: url.startsWith('$URL') ? `/api/v1/rbac-manager${path!}` : path!,
      })),
    );
    expect(called.length).toBeGreaterThanOrEqual(12);
    const wrong = called.filter(({ path }) => !routes.some((route) => route.test(path)));
    expect(wrong).toEqual([]);
  });

  it('and programs send SQL that the gateway accepts', () => {
    const texts = BLOCKS.flatMap(({ text }) =>
      [...text.matchAll(/\\?"sql\\?": ?\\?"(SELECT [^"\\…]*)\\?"/g)].map(([, sql]) => sql!),
    );
    expect(texts.length).toBeGreaterThanOrEqual(4);
    for (const sql of texts) expect([sql, judgeSql(sql)]).toEqual([sql, expect.objectContaining({ ok: true })]);
  });
});

/** Whether values.yaml of the chart has a value at a dotted key. */
function hasValue(key: string): boolean {
  let value: unknown = parse(read('charts/olap-warden/values.yaml'));
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null || !(part in value)) return false;
    value = (value as Record<string, unknown>)[part];
  }
  return true;
}

/** The keys of the leaves of an object, such as `a.b`. */
function leaves(value: unknown, key = ''): string[] {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return [key];
  return Object.entries(value).flatMap(([name, inner]) => leaves(inner, key === '' ? name : `${key}.${name}`));
}
