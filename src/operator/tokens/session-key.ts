import { randomBytes } from 'node:crypto';
import type { Logger } from 'pino';
import { errorMessage } from '../../platform/plain-error.ts';
import { sleep, type Clock } from '../../platform/clock.ts';
import type { Secret } from '../../resources/kinds.ts';
import { LABELS } from '../../resources/meta.ts';
import { StoreError, type ResourceStore } from '../../store/resource-store.ts';
import { SESSION_KEY_PART } from '../../store/secret-label.ts';
import type { LeaderTask } from '../operator.ts';

export interface SessionKeyOptions {
  /** Name of the Secret. */
  readonly name: string;
  readonly clock: Pick<Clock, 'schedule'>;
  readonly log: Logger;
}

const KEY_BYTES = 32;
/** Maximum delay until a deleted Secret exists again. */
const PERIOD_MS = 300_000;
const RETRY_MS = 10_000;

/** Key of the Secret's data: the file that the gateways read. */
const SESSION_KEYS_FILE = 'keys';

/** The Secret with a new key, which the gateways mount. */
function buildSessionKeySecret(name: string): Secret {
  const keys = `${randomBytes(KEY_BYTES).toString('base64url')}\n`;
  return {
    apiVersion: 'v1',
    kind: 'Secret',
    metadata: { name, labels: { [LABELS.part]: SESSION_KEY_PART, [LABELS.managedBy]: 'olap-warden' } },
    type: 'Opaque',
    data: { [SESSION_KEYS_FILE]: Buffer.from(keys).toString('base64') },
  };
}

/**
 * Creates the Secret with the key that seals the sessions of the dashboard, also after its deletion. It never reads or changes an existing one, so
 * that an administrator can choose the keys.
 */
export function sessionKeyTask({ name, clock, log }: SessionKeyOptions): LeaderTask {
  return {
    name: 'session key',
    async run(signal, { store }) {
      while (!signal.aborted) {
        const delay = await createSecret(store, name, log, signal);
        await sleep(clock, delay, signal).catch(() => undefined);
      }
    },
  };
}

/** @returns milliseconds until the next attempt */
async function createSecret(store: ResourceStore, name: string, log: Logger, signal: AbortSignal): Promise<number> {
  try {
    await store.create('Secret', buildSessionKeySecret(name), { signal });
    log.info({ name }, 'Secret with the key of the dashboard sessions created');
  } catch (error) {
    if (signal.aborted || (error instanceof StoreError && error.code === 'already-exists')) return PERIOD_MS;
    log.warn({ name, error: errorMessage(error) }, 'failed to create the Secret of the dashboard sessions; retrying');
    return RETRY_MS;
  }
  return PERIOD_MS;
}
