import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';

/** A gateway in a process of its own, with a result of each size. */
export interface Gateway {
  readonly url: string;
  readonly pid: number;
  readonly ids: ReadonlyMap<number, string>;
  stop(): void;
  readonly exited: Promise<unknown>;
}

/**
 * @param sizes rows of each result
 * @param nodeOptions in addition to those of the image, such as `--cpu-prof`
 * @param engine whether the engine generates its response while it is read, or keeps that of the only size in memory, so that a query costs nothing there
 */
export async function startGateway(
  folder: string,
  sizes: readonly number[],
  engine: 'generate' | 'keep' = 'generate',
  nodeOptions: readonly string[] = [],
): Promise<Gateway> {
  const program = join(import.meta.dirname, 'page-gateway.ts');
  const child = spawn(process.execPath, [...NODE_OPTIONS, ...nodeOptions, program, folder, sizes.join(','), engine], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const exited = once(child, 'close');
  const ids = new Map<number, string>();
  for await (const line of createInterface(child.stdout)) {
    const [name = '', value = ''] = line.split(' ');
    if (name === 'ready') {
      return { url: `http://127.0.0.1:${value}`, pid: child.pid ?? 0, ids, stop: () => child.stdin.end(), exited };
    }
    ids.set(Number(name), value);
  }
  throw new Error('the gateway exited before it was ready');
}
