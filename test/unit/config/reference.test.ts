import { expect, it } from 'vitest';
import { flagsHelp } from '../../../src/config/reference.ts';
import { SETTING_KEYS } from '../../../src/config/schema.ts';

it('lists each flag with a space before its description, all in one column', () => {
  const lines = flagsHelp().split('\n');
  const columns = lines.map((line) => /^ {2}--(?<key>[a-z0-9-]+) +(?=\S)/.exec(line));
  expect(columns.map((column) => column?.groups?.['key'])).toEqual([...SETTING_KEYS.keys()]);
  expect(new Set(columns.map((column) => column?.[0].length)).size).toBe(1);
});

it('strips Markdown', () => {
  const help = flagsHelp();
  expect(help).not.toMatch(/`|\]\(/);
  expect(help).toContain('See docs/rbac.md.');
});
