import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import type { RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { kubeconfigFiles, useTokenFiles } from '../../../src/kubernetes/token-files.ts';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'olap-warden-kubeconfig-'));
});
afterEach(() => rm(directory, { recursive: true }));

/** Writes a kubeconfig whose current user is `ci`. */
async function kubeconfig(file: string, user: object): Promise<string> {
  const content = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster: { server: 'https://127.0.0.1:1' } }],
    users: [{ name: 'ci', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'ci' } }],
    'current-context': 'x',
  };
  await writeFile(join(directory, file), JSON.stringify(content));
  return join(directory, file);
}

async function authorization(...files: string[]): Promise<unknown> {
  const config = new KubeConfig();
  config.loadFromFile(files[0]!);
  useTokenFiles(config, files);
  const options: RequestOptions = {};
  await config.applyToHTTPSOptions(options);
  return (options.headers as Record<string, unknown>)['Authorization'];
}

describe('the tokenFile of a kubeconfig', () => {
  it('is read, relative to the kubeconfig, and before the token', async () => {
    await writeFile(join(directory, 'token'), 'from-the-file');
    const file = await kubeconfig('config', { tokenFile: 'token', token: 'in-the-config' });
    expect(await authorization(file)).toBe('Bearer from-the-file');
    expect(await authorization(await kubeconfig('config', { token: 'in-the-config' }))).toBe('Bearer in-the-config');
  });

  it('of the first of several files counts', async () => {
    const first = await kubeconfig('first', { token: 'of-the-first' });
    const second = await kubeconfig('second', { tokenFile: 'token' });
    expect(await authorization(first, second)).toBe('Bearer of-the-first');
  });

  it('that does not exist is an error that names it', async () => {
    const file = await kubeconfig('config', { tokenFile: '/does/not/exist' });
    await expect(authorization(file)).rejects.toThrow('/does/not/exist');
  });
});

describe('the files of a kubeconfig', () => {
  it('are the given one, or the existing ones of KUBECONFIG', async () => {
    const file = await kubeconfig('config', {});
    expect(kubeconfigFiles('given', { KUBECONFIG: file })).toEqual(['given']);
    expect(kubeconfigFiles(undefined, { KUBECONFIG: [file, join(directory, 'missing')].join(delimiter) })).toEqual([
      file,
    ]);
  });
});
