import { ChildProcess } from 'node:child_process';
import { type EventEmitter, once as nodeOnce } from 'node:events';
import { WAIT_LIMIT_MS } from './limits.ts';
import { within } from './until.ts';

/**
 * As `once` of `node:events`, but for two minutes at most, from the call on.
 * @throws {Error} that names the event and its emitter
 */
export function once(
  emitter: EventEmitter,
  event: string,
  options: { readonly signal?: AbortSignal } = {},
  limitMs: number = WAIT_LIMIT_MS,
): Promise<unknown[]> {
  return within(`\`${event}\` of ${nameOf(emitter)}`, nodeOnce(emitter, event, options), limitMs);
}

function nameOf(emitter: EventEmitter): string {
  if (emitter instanceof ChildProcess) return `\`${emitter.spawnargs.slice(0, 3).join(' ')}\` (process ${emitter.pid})`;
  return `a ${emitter.constructor.name}`;
}
