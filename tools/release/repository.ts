import { execFileSync } from 'node:child_process';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');

export function say(message: string): void {
  process.stderr.write(`${message}\n`);
}

/** Runs a program in the root of the repository. @returns its output, trimmed @throws {Error} if it fails */
export function run(file: string, ...args: string[]): string {
  return output(file, args).trim();
}

function output(file: string, args: readonly string[]): string {
  return execFileSync(file, args, { cwd: root, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] });
}

export const path = (file: string): string => join(root, file);
export const read = (file: string): string => readFileSync(path(file), 'utf8');

export function edit(file: string, change: (text: string) => string): void {
  writeFileSync(path(file), change(read(file)));
}

/** Files that differ from the last commit or are not in it, sorted. */
export function changedFiles(): string[] {
  const status = output('git', ['status', '--porcelain', '-z', '--no-renames', '--untracked-files=all']);
  return status
    .split('\0')
    .filter((entry) => entry !== '')
    .map((entry) => entry.slice(3))
    .sort();
}

/** Makes these files, and the branch, as they were at a commit. Other files are not touched. */
export function restore(commit: string, files: readonly string[]): void {
  run('git', 'reset', '--quiet', '--soft', commit);
  const known = new Set(output('git', ['ls-tree', '-r', '-z', '--name-only', commit]).split('\0'));
  const old = files.filter((file) => known.has(file));
  if (old.length > 0) run('git', 'restore', '--quiet', `--source=${commit}`, '--staged', '--worktree', '--', ...old);
  for (const file of files.filter((one) => !known.has(one))) {
    run('git', 'rm', '--quiet', '--cached', '--ignore-unmatch', '--', file);
    rmSync(path(file), { force: true });
  }
}
