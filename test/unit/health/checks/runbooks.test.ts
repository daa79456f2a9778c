import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { CATALOGUE } from '../../../../src/health/catalogue.ts';

const FOLDER = join(import.meta.dirname, '../../../../docs/checks');

describe('the runbooks of the checks', () => {
  it('exist for each check and for no other name', () => {
    expect(
      readdirSync(FOLDER)
        .filter((file) => file.endsWith('_CHECK.md'))
        .toSorted(),
    ).toEqual(CATALOGUE.map(({ name }) => `${name}.md`).toSorted());
  });

  it.each(CATALOGUE)('of $name have all chapters and every threshold', ({ name, defaultThresholds }) => {
    const text = readFileSync(join(FOLDER, `${name}.md`), 'utf8');
    expect(text.split('\n').filter((line) => line.startsWith('#'))).toEqual([
      `# ${name}`,
      '## Meaning',
      '## Impact',
      '## Diagnosis',
      '## Mitigation',
    ]);
    for (const threshold of Object.keys(defaultThresholds)) expect(text).toContain(`\`${threshold}\``);
  });

  it('say of each check what it found', () => {
    for (const { name, madeFault } of CATALOGUE) {
      expect(madeFault.fault, name).not.toBe('');
      expect(madeFault.found, name).not.toBe('');
    }
  });

  it('refer only to existing checks', () => {
    const known = new Set(CATALOGUE.map(({ name }) => name));
    for (const { name } of CATALOGUE) {
      for (const [other] of readFileSync(join(FOLDER, `${name}.md`), 'utf8').matchAll(/[A-Z][A-Z_]+_CHECK/gu))
        expect(known).toContain(other);
    }
  });
});
