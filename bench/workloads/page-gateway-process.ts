import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** A gateway in a process of its own, with a result of each size. */
export interface Gateway {
  readonly url: string;
  readonly pid: number;
  readonly ids: ReadonlyMap<number, string>;
  stop(): void;
}

/**
 * @param sizes rows of each result
 * @param engine whether the engine generates its response while it is read, or keeps that of the only size in memory, so that a query costs nothing there
 */
export async function startGateway(
  folder: string,
  sizes: readonly number[],
  engine: 'generate' | 'keep' = 'generate',
): Promise<Gateway> {
  const program = join(import.meta.dirname, 'page-gateway.ts');
  const child = spawn(process.execPath, [program, folder, sizes.join(','), engine], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const ids = new Map<number, string>();
  for await (const line of createInterface(child.stdout)) {
    const [name = '', value = ''] = line.split(' ');
    if (name === 'ready') {
      return { url: `http://127.0.0.1:${value}`, pid: child.pid ?? 0, ids, stop: () => child.stdin.end() };
    }
    ids.set(Number(name), value);
  }
  throw new Error('the gateway exited before it was ready');
}
