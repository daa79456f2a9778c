import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

/** A program of this folder in a separate process. */
export interface RunningProgram {
  /** The first line of its output. */
  readonly line: Promise<string>;
  readonly exited: Promise<unknown>;
  kill(): void;
}

/** @param options of Node.js */
export function runProgram(name: string, args: readonly string[], options: readonly string[] = []): RunningProgram {
  const path = fileURLToPath(new URL(name, import.meta.url));
  const child = spawn(process.execPath, [...options, path, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const { promise, resolve, reject } = Promise.withResolvers<string>();
  let text = '';
  child.stdout.on('data', (chunk: Buffer) => {
    text += chunk.toString();
    const end = text.indexOf('\n');
    if (end >= 0) resolve(text.slice(0, end));
  });
  child.on('error', reject);
  child.on('exit', (code) => reject(new Error(`${name} exited with ${code} without output`)));
  return { line: promise, exited: once(child, 'close'), kill: () => void child.kill() };
}
