import { existsSync, readFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { delimiter, dirname, join, resolve } from 'node:path';
import type { KubeConfig, User } from '@kubernetes/client-node';
import { parse } from 'yaml';

/** The files of a kubeconfig, as kubectl finds them. @param path of one file, which is the only one then */
export function kubeconfigFiles(path: string | undefined, env: Readonly<Record<string, string | undefined>>): string[] {
  if (path !== undefined) return [path];
  const named = env['KUBECONFIG'];
  const files = named ? named.split(delimiter).filter(Boolean) : [join(homedir(), '.kube/config')];
  return files.filter((file) => existsSync(file));
}

/**
 * Makes the users of a KubeConfig use their `tokenFile`, which KubeConfig ignores when it loads a file. As with kubectl, the path is relative to the
 * kubeconfig, the file is read again every minute, and it takes precedence over `token`. Of several files the first with a user counts.
 */
export function useTokenFiles(config: KubeConfig, files: readonly string[]): void {
  const tokenFiles = new Map<string, string | undefined>();
  for (const file of files) {
    for (const { name, tokenFile } of usersIn(file)) {
      if (!tokenFiles.has(name)) tokenFiles.set(name, tokenFile && resolve(dirname(file), tokenFile));
    }
  }
  config.users = config.users.map((user): User => {
    const tokenFile = tokenFiles.get(user.name);
    if (tokenFile === undefined) return user;
    const { token: _token, ...rest } = user;
    return { ...rest, authProvider: { name: 'tokenFile', config: { tokenFile } } };
  });
}

function usersIn(file: string): { name: string; tokenFile: string | undefined }[] {
  // A warning would print a part of the file.
  const content = parse(readFileSync(file, 'utf8'), { logLevel: 'error' }) as { users?: unknown } | null;
  const users = Array.isArray(content?.users) ? (content.users as unknown[]) : [];
  return users.flatMap((entry) => {
    const { name, user } = (entry ?? {}) as { name?: unknown; user?: { tokenFile?: unknown } | null };
    if (typeof name !== 'string') return [];
    return [{ name, tokenFile: typeof user?.tokenFile === 'string' && user.tokenFile ? user.tokenFile : undefined }];
  });
}
