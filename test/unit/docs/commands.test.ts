import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { commandsOf } from '../../support/documents/blocks.ts';
import { ROOT } from '../../support/documents/pages.ts';
import { blocksOf, RUNNERS, shellBlocks } from '../../support/documents/shell-blocks.ts';

const NOT_RUN = 'not run: ';

describe('every block of commands', () => {
  it('has a test that runs it, or a reason', () => {
    const counts = Object.fromEntries([...shellBlocks()].map(([path, blocks]) => [path, blocks.length]));
    expect(counts).toEqual(
      Object.fromEntries(Object.entries(RUNNERS).map(([path, runners]) => [path, runners.length])),
    );
  });

  it('has a test that exists and takes the blocks of its page', () => {
    for (const [page, runners] of Object.entries(RUNNERS)) {
      for (const test of runners.filter((runner) => !runner.startsWith(NOT_RUN))) {
        expect([test, existsSync(join(ROOT, test))]).toEqual([test, true]);
        const source = readFileSync(join(ROOT, test), 'utf8');
        // A test that takes all blocks assigned to it compares them with those that it has run.
        const takes = source.includes('blocksOf(OWN)') || source.includes(page) || /make-run/.test(test);
        expect([page, test, takes]).toEqual([page, test, true]);
      }
    }
  });
});

describe('commands of make', () => {
  const blocks = blocksOf('test/unit/docs/commands.test.ts');

  it.each(blocks.flatMap((block) => commandsOf(block)))('%s: is accepted with -n', (command) => {
    const { MAKEFLAGS: _flags, MAKELEVEL: _level, ...env } = process.env;
    const [dry, ...rest] = command.split('#');
    expect(rest.length).toBeLessThan(2);
    const made = spawnSync('bash', ['-c', `make -n ${dry!.replace(/^make /, '')}`], {
      cwd: ROOT,
      env,
      encoding: 'utf8',
    });
    expect(made).toMatchObject({ status: 0, stderr: '' });
    expect(made.stdout).not.toBe('');
  });
});
