import type { SqlLimits } from '../../access/sql/limits.ts';
import type { Engine, KnownTables } from '../../engine/types.ts';
import type { PaginatedQueries } from '../../query/paginated-queries.ts';
import type { PaginationSettings } from '../../query/settings.ts';
import type { ByteBudget } from '../byte-budget.ts';
import type { PeerRouting } from '../query/peer-routing.ts';

/** Dependencies of the data plane. */
export interface DataPlaneParts {
  readonly engine: Engine & KnownTables;
  readonly queries: PaginatedQueries;
  readonly settings: () => PaginationSettings;
  /** The other gateways; absent for a single gateway. */
  readonly peers?: PeerRouting | undefined;
  readonly budget: ByteBudget;
  /** Default: `SQL_LIMITS`. */
  readonly sqlLimits?: SqlLimits | undefined;
}
