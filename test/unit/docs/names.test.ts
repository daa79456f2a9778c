import { existsSync, globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/access/policy/actions.ts';
import { PROPERTIES } from '../../../src/app/parts/properties.ts';
import { COMMANDS } from '../../../src/commands/help.ts';
import { FORMER_NAMES } from '../../../src/config/former-names.ts';
import { SETTING_KEYS } from '../../../src/config/schema.ts';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { commandsWith } from '../../support/documents/blocks.ts';
import { CURRENT_PAGES, ROOT, unknown } from '../../support/documents/pages.ts';

const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

/** The metrics of docs/metrics.md, which is generated from those that the program registers. */
const METRICS = new Set([...read('docs/metrics.md').matchAll(/^\| `([a-z_]+)` \| (\w+)/gm)].map(([, name]) => name!));
const METRIC = /\b((?:olap_warden|olapwarden|workqueue|controller_runtime|leader_election)_[a-z_]+[a-z])\b/g;

/** Also the series of a histogram, and the beginning of several names, such as `olap_warden_store_*`. */
function isMetric(name: string): boolean {
  if (METRICS.has(name) || METRICS.has(name.replace(/_(bucket|sum|count)$/, ''))) return true;
  return [...METRICS].some((metric) => metric.startsWith(`${name}_`));
}

/** The flags that a command reads by its own call of `parseArgs`. */
const ownFlags = (source: string): string[] =>
  [...read(source).matchAll(/^ +'?([a-z-]+)'?: \{ type: '(?:string|boolean)'/gm)].map(([, flag]) => flag!);
const SERVICE_FLAGS = new Set([...SETTING_KEYS.keys(), 'config', 'set', 'help']);
const FLAGS: Readonly<Record<string, ReadonlySet<string>>> = {
  check: new Set(ownFlags('src/commands/check.ts')),
  audit: new Set(ownFlags('src/commands/audit.ts')),
  access: new Set(['arguments', 'lint', 'plan', 'test'].flatMap((part) => ownFlags(`src/commands/access-${part}.ts`))),
  standalone: SERVICE_FLAGS,
  gateway: SERVICE_FLAGS,
  operator: SERVICE_FLAGS,
};
/** The words of a command line of olap-warden in a sentence, up to its end: a backtick, a pipe, a comment or the end of the line. */
const COMMAND_LINE = /(?:`|npx )olap-warden ([a-z][a-z-]*(?:\\\n|[^\n`|#])*)/gm;

describe('the documentation names only what exists:', () => {
  it('targets of the Makefile', () => {
    const targets = new Set([...read('Makefile').matchAll(/^([a-z][a-z0-9-]*):/gm)].map(([, target]) => target));
    expect(unknown(/(?:`|\$ )make ([a-z][a-z0-9-]*)/g, (target) => targets.has(target))).toEqual([]);
  });

  it('metrics', () => {
    expect(METRICS.size).toBeGreaterThan(40);
    expect(unknown(METRIC, isMetric)).toEqual([]);
  });

  it('metrics in alerts and dashboards', () => {
    const files = globSync('charts/**/*.{yaml,json}', { cwd: ROOT }).filter((path) => !path.includes('/crds/'));
    const wrong = files.flatMap((path) =>
      [...read(path).matchAll(METRIC)]
        .map(([, name]) => name!)
        .filter((name) => !isMetric(name))
        .map((name) => `${name} (${path})`),
    );
    expect(wrong).toEqual([]);
  });

  it('health checks', () => {
    // The worked example of CONTRIBUTING is a check that does not exist; test/integration/tools/add-a-check.test.ts adds it.
    const [, example = ''] = /defineCheck\(\{\s+name: '(\w+)'/.exec(read('CONTRIBUTING.md')) ?? [];
    expect(example).not.toBe('');
    const checks = new Set<string>([...CATALOGUE.map(({ name }) => name), example]);
    expect(unknown(/\b([A-Z][A-Z_]*_CHECK)\b/g, (name) => checks.has(name))).toEqual([]);
  });

  it('properties', () => {
    const properties = [...PROPERTIES.keys.keys(), ...FORMER_NAMES.keys()];
    const isKnown = (key: string): boolean =>
      properties.some((property) => property === key || property.startsWith(`${key.replace(/\.?\*$/, '')}.`));
    expect(unknown(/`((?:olap|controller\.cluster\.health)\.[a-zA-Z0-9.*]+)`/g, isKnown)).toEqual([]);
  });

  it('files and folders of the repository', () => {
    // Only after `make web`.
    const built = new Set(['web/dist']);
    // A placeholder stands for any name; its folder exists.
    const isKnown = (path: string): boolean =>
      built.has(path) ||
      (/[*{]/.test(path)
        ? globSync(path, { cwd: ROOT }).length > 0
        : existsSync(join(ROOT, /[<…]/.test(path) ? dirname(path.split(/[<…]/)[0]!) : path)));
    expect(unknown(/`((?:src|test|tools|charts|crds|manifests|bench|web)\/[^\s`]+)`/g, isKnown)).toEqual([]);
  });

  it('commands and their flags', () => {
    let flags = 0;
    const isKnown = (line: string): boolean => {
      const [command = '', ...words] = line.split(/\s+/);
      const known = FLAGS[command];
      const named = words.flatMap((word) => /^\[?--([a-z][a-z-]*)/.exec(word)?.[1] ?? []);
      flags += named.length;
      return known !== undefined && named.every((flag) => known.has(flag));
    };
    expect(Object.keys(FLAGS).toSorted()).toEqual(COMMANDS.toSorted());
    expect(unknown(COMMAND_LINE, isKnown)).toEqual([]);
    const inBlocks = commandsWith(/^(?:npx )?olap-warden /);
    expect(inBlocks.length).toBeGreaterThan(2);
    const wrong = inBlocks.filter(
      ({ command }) => !isKnown(command.replace(/^(?:npx )?olap-warden /, '').replace(/[|#].*/, '')),
    );
    expect(wrong).toEqual([]);
    expect(flags).toBeGreaterThan(5);
  });

  it('environment variables of settings', () => {
    const known = new Set([...SETTING_KEYS.keys(), 'config'].map((key) => key.toUpperCase().replaceAll('-', '_')));
    // Kubernetes sets it in pods beside a Service named olap-warden: the page says that it is ignored.
    known.add('SERVICE_HOST');
    // The dashboard names it in the calls that it copies.
    known.add('TOKEN');
    expect(unknown(/\bOLAP_WARDEN_([A-Z_]+[A-Z])\b/g, (name) => known.has(name))).toEqual([]);
  });

  it('actions', () => {
    const verbs = [...new Set(ACTIONS.flatMap((action) => /^[A-Z][a-z]+/.exec(action) ?? []))].join('|');
    // A variable of the code that begins like an action.
    const known = new Set([...ACTIONS, 'QuerySchema']);
    expect(unknown(new RegExp(`\`((?:${verbs})[A-Z][A-Za-z]+)\``, 'g'), (name) => known.has(name))).toEqual([]);
  });
});

describe('the documentation has every', () => {
  const lacking = (names: Iterable<string>, path: string): string[] => {
    const text = read(path);
    return [...names].filter((name) => !text.includes(`\`${name}\``));
  };

  it('setting and property', () => {
    expect(lacking([...SETTING_KEYS.keys(), ...PROPERTIES.keys.keys()], 'docs/configuration.md')).toEqual([]);
  });

  it('action', () => {
    expect(lacking(ACTIONS, 'docs/rbac.md')).toEqual([]);
  });

  it('flag of a command with flags of its own', () => {
    const page = read('docs/commands.md');
    for (const command of ['check', 'audit']) {
      const [, chapter = ''] = page.split(`\n## ${command}\n`);
      const missing = [...FLAGS[command]!].filter((flag) => !new RegExp(`--${flag}\\b`).test(chapter));
      expect(missing, command).toEqual([]);
    }
  });

  it('check, on a page and in the list', () => {
    const index = read('docs/checks/README.md');
    for (const { name } of CATALOGUE) {
      expect(CURRENT_PAGES.map(({ path }) => path)).toContain(`docs/checks/${name}.md`);
      expect(index).toContain(`(${name}.md)`);
    }
  });

  it('metric that the sources register', () => {
    const named = globSync('src/**/*.ts', { cwd: ROOT }).flatMap((path) =>
      [
        ...read(path).matchAll(
          /\bname: '((?:olap_warden|olapwarden|workqueue|controller_runtime|leader_election)_[a-z_]+[a-z])'/g,
        ),
      ].map(([, name]) => name!),
    );
    expect(named.length).toBeGreaterThan(20);
    expect(named.filter((name) => !METRICS.has(name))).toEqual([]);
  });
});
