import { Registry } from 'prom-client';
import { createQueryService, type QueryService } from '../../src/app/parts/query-service.ts';
import type { Engine } from '../../src/pinot/types.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { createLogger } from '../../src/platform/logging.ts';
import { DEFAULT_PAGINATION_SETTINGS } from '../../src/results/settings.ts';
import { memoryProperties } from './result-stores.ts';

/** The paginated queries of one gateway with a memory store and the default settings. The caller closes it. */
export function memoryQueryService(engine: Engine): Promise<QueryService> {
  return createQueryService({
    engine: engine as Parameters<typeof createQueryService>[0]['engine'],
    identity: { id: 'gateway', host: '127.0.0.1', port: 1 },
    store: memoryProperties(),
    settings: () => DEFAULT_PAGINATION_SETTINGS,
    registry: new Registry(),
    log: createLogger('silent'),
    clock: systemClock,
    random: (bytes) => crypto.getRandomValues(Buffer.alloc(bytes)),
  });
}
