import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { ACCEPTED } from '../../../tools/helm/score.ts';

it('docs/install.md lists the accepted findings of kube-score', async () => {
  const content = await readFile(resolve(import.meta.dirname, '../../../docs/install.md'), 'utf8');
  const rows = (content.split('\n## kube-score\n')[1] ?? '').split('\n').filter((line) => line.startsWith('| `'));
  expect(rows).toEqual(
    ACCEPTED.map(
      ({ check, values, objects, reason }) => `| \`${check}\` | ${values} | ${objects.join(', ')} | ${reason} |`,
    ),
  );
});
