import { mkdtemp, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import { fileDocument } from '../../src/store/folder/file-document.ts';
import { sharedDocumentContract } from './shared-document.ts';

const newPath = async (): Promise<string> => join(await mkdtemp(join(tmpdir(), 'olap-warden-document-')), 'usage.json');

sharedDocumentContract('a file', async () => {
  const path = await newPath();
  return [fileDocument(path), fileDocument(path)];
});

it('a file is readable only for its owner', async () => {
  const path = await newPath();
  const document = fileDocument(path);
  const { signal } = new AbortController();
  await document.write('{}', (await document.read(signal)).version, signal);
  expect((await stat(path)).mode & 0o777).toBe(0o600);
});
