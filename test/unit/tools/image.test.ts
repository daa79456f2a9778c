import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { ROOT } from '../../support/documents/pages.ts';

it('every user can run the programs of an image that was packed with umask 077', () => {
  const folder = mkdtempSync(join(tmpdir(), 'olap-warden-image-'));
  try {
    const script = `umask 077
      mkdir -p files/bin && touch files/bin/program files/text && chmod u+x files/bin/program
      '${join(ROOT, 'tools/kubernetes/image.sh')}' files image.tar name:1 /bin/program
      tar -xf image.tar
      for blob in blobs/sha256/*; do tar -tvf "$blob" 2>/dev/null || true; done`;
    const listing = execFileSync('bash', ['-ec', script], { cwd: folder, encoding: 'utf8' });
    const modes = listing
      .trim()
      .split('\n')
      .map((line) => `${line.split(' ')[0]} ${line.split(' ').at(-1)}`);
    expect(modes).toEqual(['drwxr-xr-x ./', 'drwxr-xr-x ./bin/', '-rwxr-xr-x ./bin/program', '-rw-r--r-- ./text']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
