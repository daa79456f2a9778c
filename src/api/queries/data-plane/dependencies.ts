import type { SqlLimits } from '../../../access/sql/limits.ts';
import type { TableSchemas } from '../../../pinot/table-schemas.ts';
import type { Engine, KnownTables } from '../../../pinot/types.ts';
import type { PaginatedQueries } from '../../../results/submit/paginated-queries.ts';
import type { QueryRuns } from '../../../results/runs/runs.ts';
import type { SubmissionKeys } from '../../../results/submit/submission-keys.ts';
import type { PaginationSettings } from '../../../results/settings.ts';
import type { FairQueue } from '../../../platform/fair-queue.ts';
import type { PeerRouting } from '../peer-routing.ts';

/** Dependencies of the data plane. */
export interface DataPlaneDependencies {
  readonly engine: Engine & KnownTables;
  readonly queries: PaginatedQueries;
  /** Asynchronous queries; 501 where absent. */
  readonly runs?: QueryRuns | undefined;
  /** Keys of repeated submissions; `Idempotency-Key` has no effect where absent. */
  readonly keys?: Pick<SubmissionKeys, 'claim'> | undefined;
  readonly settings: () => PaginationSettings;
  /** How requests reach the gateway that stores the result; absent where each one is handled here. */
  readonly peers?: PeerRouting | undefined;
  readonly memory: FairQueue;
  /** Those that other parts of the process read, too. Default: its own. */
  readonly schemas?: TableSchemas | undefined;
  /** Default: `SQL_LIMITS`. */
  readonly sqlLimits?: SqlLimits | undefined;
}
