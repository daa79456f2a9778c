import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { javaProblem, requireFolder, UsageError } from '../../../tools/dev/run-requirements.ts';

describe('make run', () => {
  it.each([
    ['openjdk version "17.0.14" 2025-01-21\n', undefined],
    ['openjdk version "25" 2025-09-16\n', undefined],
    ['a Java that names no version\n', undefined],
    [undefined, '`java -version` fails'],
    ['java version "1.8.0_292"\n', '`java` is version 8'],
    ['openjdk version "11.0.2" 2019-01-15\n', '`java` is version 11'],
  ])('of `java -version` that says %j: %j', (output, problem) => {
    const found = javaProblem(output);
    if (problem === undefined) expect(found).toBeUndefined();
    else {
      expect(found).toContain(problem);
      expect(found).toContain('install a JDK 17 or newer');
      expect(found).toContain('make run OLAP_CONTROLLER=');
    }
  });

  it('refuses a data folder that is a file, or is in one, and says what to do', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-requirements-'));
    try {
      const file = join(folder, 'file');
      await writeFile(file, '');
      for (const path of [file, join(file, 'data')]) {
        const refused = requireFolder(path, false);
        await expect(refused).rejects.toThrow(UsageError);
        await expect(refused).rejects.toThrow(/DATA_DIR.*is a file; choose another folder.*make run DATA_DIR=/);
      }
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  });
});
