import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '../../../platform/clock.ts';
import type { Principal } from '../../../access/principal.ts';
import { FairQueue, type QueueObserver } from '../../../platform/fair-queue.ts';
import { TokenBuckets } from '../../../platform/rate-limiter.ts';
import { type RequestKind, type RouteKind, routeKindOf, runsQuery } from '../request/classify.ts';
import type { RequestContext } from '../context.ts';
import { HttpError } from '../errors.ts';
import type { Admission } from './admission.ts';
import { admit } from './admit.ts';

/** Limits of one caller. */
export interface CallerLimits {
  /** Sustained requests per second. Bursts of up to ten seconds' worth are allowed. 0 for no limit. */
  readonly requestsPerSecond: number;
  /** Concurrent queries. 0 for no limit. */
  readonly concurrentQueries: number;
  /** Concurrent calls that are forwarded to the controller, and as many to RBAC and health. 0 for no limit. */
  readonly concurrentCalls: number;
  /** Milliseconds until the response headers of a query must arrive. 0 for the default of the engine connection. */
  readonly queryTimeoutMs: number;
  /** Maximum rows in a query response. 0 for no limit. */
  readonly rowsPerQuery: number;
}

/** High enough for people and dashboards. They bound the load of faulty scripts. */
export const DEFAULT_CALLER_LIMITS: CallerLimits = {
  requestsPerSecond: 200,
  concurrentQueries: 64,
  concurrentCalls: 24,
  queryTimeoutMs: 0,
  rowsPerQuery: 0,
};

export interface LimitsOptions {
  /** For callers without an entry in `byRole` or `byCaller`. */
  readonly defaults?: Partial<CallerLimits>;
  /** By role name. A caller with several roles gets the highest value of each limit. */
  readonly byRole?: Readonly<Record<string, Partial<CallerLimits>>>;
  /** By SRN, or by service token name or user id; an SRN has priority. Overrides `byRole`. */
  readonly byCaller?: Readonly<Record<string, Partial<CallerLimits>>>;
  readonly rolesOf: (principal: Principal) => readonly string[];
  readonly clock: Pick<Clock, 'monotonic' | 'schedule'>;
  readonly observer?: QueueObserver;
}

const BURST_SECONDS = 10;
/** Maximum callers with counters; the least recently active one is removed first. */
const MAX_CALLERS = 10_000;

/** Maximum calls of one caller that wait. */
const MAX_WAITING_CALLS = 256;

/** Counts requests, queries and calls by caller, and refuses or delays those above the limits. */
export class Limits {
  readonly #options: LimitsOptions;
  readonly #requests: TokenBuckets;
  readonly #queries: FairQueue;
  /** All callers share the connections to the controller, so a caller whose calls hang must not occupy all of them. */
  readonly #calls: FairQueue;
  /** Calls of the gateway itself do not wait for those to a controller that hangs. */
  readonly #ownCalls: FairQueue;
  readonly #base: CallerLimits;
  /** Whether all callers have the same limits. */
  readonly #isUniform: boolean;

  constructor(options: LimitsOptions) {
    this.#options = options;
    const { clock, observer } = options;
    this.#requests = new TokenBuckets(clock, MAX_CALLERS);
    const queue = (name: string, maxWaitingOfKey: number): FairQueue =>
      new FairQueue({ name, total: Infinity, maxWaiting: Infinity, maxWaitingOfKey }, clock, observer);
    this.#queries = queue('queries', 0);
    this.#calls = queue('calls', MAX_WAITING_CALLS);
    this.#ownCalls = queue('own-calls', MAX_WAITING_CALLS);
    this.#base = { ...DEFAULT_CALLER_LIMITS, ...options.defaults };
    this.#isUniform = Object.keys({ ...options.byRole, ...options.byCaller }).length === 0;
  }

  /** For metrics. */
  get queues(): readonly FairQueue[] {
    return [this.#queries, this.#calls, this.#ownCalls];
  }

  /** Current limits of a caller. */
  of(principal: Principal): CallerLimits {
    if (this.#isUniform) return this.#base;
    const { byCaller = {}, byRole = {}, rolesOf } = this.#options;
    const ofRoles = rolesOf(principal).map((role) => (Object.hasOwn(byRole, role) ? (byRole[role] ?? {}) : {}));
    const own = [principal.id, principal.srn].map((name) =>
      Object.hasOwn(byCaller, name) ? byCaller[name] : undefined,
    );
    return Object.assign({ ...this.#base, ...highestLimits(ofRoles) }, ...own) as CallerLimits;
  }

  /**
   * Counts an authenticated request, and sets its query limits. A query counts until it ends.
   * @param onEnd registers a function that is called when the query has ended
   * @throws {HttpError} 429
   */
  count(
    request: Pick<RequestContext, 'principal' | 'queryTimeoutMs' | 'maxRows'>,
    kind: RequestKind | RouteKind | undefined,
    onEnd: (call: () => void) => void,
  ): void {
    const { srn } = request.principal;
    const {
      requestsPerSecond: rate,
      concurrentQueries: max,
      queryTimeoutMs,
      rowsPerQuery,
    } = this.of(request.principal);
    const bucket = { burst: rate * BURST_SECONDS, intervalMs: 1000 / rate };
    const waitMs = rate === 0 ? 0 : this.#requests.take(srn, bucket);
    if (waitMs > 0) {
      this.#options.observer?.onRefusal('request-rate', 'full-of-key');
      throw tooMany(`request rate limit (${rate} per second) exceeded`, Math.ceil(waitMs / 1000));
    }
    if (!runsQuery(kind)) return;
    const place = this.#queries.tryEnter(srn, { most: max === 0 ? Infinity : max });
    if (typeof place === 'string') throw tooMany(`concurrent query limit (${max}) exceeded`, 1);
    if (queryTimeoutMs > 0) request.queryTimeoutMs = queryTimeoutMs;
    if (rowsPerQuery > 0) request.maxRows = rowsPerQuery;
    onEnd(() => place.release());
  }

  /**
   * Waits until a call of this kind may start. Kinds without a limit start at once.
   * @param onClose registers a function that is called once when the call is finished or its client has disconnected
   * @throws {HttpError} 429 if too many calls of the caller wait
   */
  async beginCall(
    principal: Principal,
    kind: RouteKind | undefined,
    onClose: (call: () => void) => void,
  ): Promise<void> {
    const queue = kind === 'controller' ? this.#calls : kind === 'own' ? this.#ownCalls : undefined;
    const { concurrentCalls: most } = this.of(principal);
    if (queue === undefined || most === 0) return;
    const left = new AbortController();
    onClose(() => left.abort());
    const place = await admit(queue, principal.srn, { most, signal: left.signal });
    onClose(() => place.release());
  }
}

/** Takes the highest value of each limit. 0 means no limit and therefore wins. */
function highestLimits(list: readonly Partial<CallerLimits>[]): Partial<CallerLimits> {
  const highest: { -readonly [Key in keyof CallerLimits]?: number } = {};
  for (const limits of list) {
    for (const [key, value] of Object.entries(limits) as [keyof CallerLimits, number][]) {
      const known = highest[key];
      highest[key] = known === undefined ? value : known === 0 || value === 0 ? 0 : Math.max(known, value);
    }
  }
  return highest;
}

const LIMIT_OF_SETTING: Readonly<Record<string, keyof CallerLimits>> = {
  'max-requests-per-second': 'requestsPerSecond',
  'max-concurrent-queries': 'concurrentQueries',
  'max-concurrent-calls': 'concurrentCalls',
  'query-timeout-ms': 'queryTimeoutMs',
  'max-rows-per-query': 'rowsPerQuery',
};

/**
 * Parses a setting with limits of roles or callers.
 * @param entries each `<name>:<limit>=<integer>`, with a limit of `LIMIT_OF_SETTING`
 * @param whose used in error messages, such as `role`
 * @throws {TypeError} for invalid and duplicate entries
 */
export function parseLimits(
  entries: readonly string[],
  whose: string,
): Readonly<Record<string, Partial<CallerLimits>>> {
  const byName = new Map<string, { -readonly [Key in keyof CallerLimits]?: number }>();
  for (const entry of entries) {
    // A name may contain colons.
    const [, owner = '', name = '', value] = /^(.+):([a-z-]+)=(\d{1,9})$/.exec(entry) ?? [];
    const limit = LIMIT_OF_SETTING[name];
    if (limit === undefined) {
      const names = Object.keys(LIMIT_OF_SETTING).join('`, `');
      throw new TypeError(
        `\`${entry}\` must be \`${whose}:limit=number\`, such as \`analysts:max-concurrent-queries=8\`, with a limit of \`${names}\``,
      );
    }
    // A misspelt kind would be the limits of nobody.
    if (owner.startsWith('srn2:') && !/^srn2:(user|service-token)#\S+$/.test(owner))
      throw new TypeError(
        `\`${owner}\` must be \`srn2:user#<id>\`, \`srn2:service-token#<name>\` or a name without \`srn2:\``,
      );
    const limits = byName.get(owner) ?? {};
    if (limits[limit] !== undefined) throw new TypeError(`\`${name}\` of the ${whose} \`${owner}\` is given twice`);
    limits[limit] = Number(value);
    byName.set(owner, limits);
  }
  return Object.fromEntries(byName);
}

function tooMany(what: string, seconds: number): HttpError {
  return new HttpError(429, `${what}: try again in ${seconds} s`, { headers: { 'retry-after': `${seconds}` } });
}

/** Counts the connection and the limits of every authenticated request of `app`. Register it on the root, after authentication and before the routes. */
export function registerLimits(
  app: FastifyInstance,
  limits: Limits | undefined,
  admission: Pick<Admission, 'countCaller'>,
): void {
  app.decorateRequest('queryTimeoutMs', undefined);
  app.decorateRequest('maxRows', undefined);
  app.addHook('preParsing', async (request: FastifyRequest, reply: FastifyReply) => {
    const principal = request.principal as Principal | null;
    // Public routes have no principal, despite the type.
    if (principal === null) return;
    admission.countCaller(request.raw, principal.srn);
    if (limits === undefined) return;
    const kind = routeKindOf(request);
    const onClose = (call: () => void): void => {
      // The client may have disconnected while its credential was checked.
      if (reply.raw.destroyed) call();
      else reply.raw.once('close', call);
    };
    limits.count(request, kind, onClose);
    await limits.beginCall(principal, kind, onClose);
  });
}
