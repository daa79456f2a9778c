import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Principal } from '../access/principal.ts';
import { HttpError } from './errors.ts';

declare module 'fastify' {
  interface FastifyRequest {
    /** Milliseconds until the engine must have begun to answer; undefined for the connection's own. */
    queryTimeoutMs?: number | undefined;
    /** Rows that the answer to the query may hold; undefined for any number. */
    maxRows?: number | undefined;
  }
}

/** What one caller may ask for. */
export interface CallerLimits {
  /** Requests a second, over a minute's tenth: a burst of ten seconds' worth is borne. 0 for no limit. */
  readonly requestsPerSecond: number;
  /** Queries at once. 0 for no limit. */
  readonly concurrentQueries: number;
  /** Milliseconds until the engine must have begun to answer a query. 0 for the engine connection's own. */
  readonly queryTimeoutMs: number;
  /** Rows that the answer to a query may hold. 0 for no limit. */
  readonly rowsPerQuery: number;
}

/** Generous for people and dashboards, and still a bound on a script that runs wild. */
export const DEFAULT_CALLER_LIMITS: CallerLimits = {
  requestsPerSecond: 200,
  concurrentQueries: 64,
  queryTimeoutMs: 0,
  rowsPerQuery: 0,
};

export interface LimitsOptions {
  /** For callers that no other line is about. */
  readonly defaults?: Partial<CallerLimits>;
  /** By name of a role; where a caller has several of them, the most generous value of each counts. */
  readonly byRole?: Readonly<Record<string, Partial<CallerLimits>>>;
  /** By name of a service token, or id of a user; wins over those of roles. */
  readonly byCaller?: Readonly<Record<string, Partial<CallerLimits>>>;
  readonly rolesOf: (principal: Principal) => readonly string[];
  /** Milliseconds of a clock that never goes back. */
  readonly now: () => number;
}

export interface AdmittedQuery {
  /** What holds for the caller of the query. */
  readonly limits: CallerLimits;
  readonly end: () => void;
}

const BURST_SECONDS = 10;
/** Callers that are remembered; the one that was silent longest is forgotten first. */
const MAX_CALLERS = 10_000;

interface Caller {
  /** Requests that are still free, as of `at`. */
  tokens: number;
  at: number;
  queries: number;
}

/** Counts what each caller does, and refuses what is more than it may. */
export class Limits {
  readonly #options: LimitsOptions;
  readonly #callers = new Map<string, Caller>();
  /** Who was here last, and so is the last in the map. */
  #last: Caller | undefined;
  readonly #base: CallerLimits;
  readonly #hasRoles: boolean;

  constructor(options: LimitsOptions) {
    this.#options = options;
    this.#base = { ...DEFAULT_CALLER_LIMITS, ...options.defaults };
    this.#hasRoles = Object.keys(options.byRole ?? {}).length > 0;
  }

  /** What holds for a caller now. */
  of(principal: Principal): CallerLimits {
    const { byCaller, byRole = {}, rolesOf } = this.#options;
    const own = byCaller !== undefined && Object.hasOwn(byCaller, principal.id) ? byCaller[principal.id] : undefined;
    if (own === undefined && !this.#hasRoles) return this.#base;
    const roles = this.#hasRoles ? rolesOf(principal) : [];
    const ofRoles = roles.map((role) => (Object.hasOwn(byRole, role) ? (byRole[role] ?? {}) : {}));
    return { ...this.#base, ...mostGenerous(ofRoles), ...own };
  }

  /**
   * Counts a request that runs a query; the query until `end` is called.
   * @throws {HttpError} 429
   */
  admitQuery(principal: Principal): AdmittedQuery {
    const limits = this.of(principal);
    this.countRequest(principal, limits);
    return { limits, end: this.beginQuery(principal, limits) };
  }

  /** Takes the count of a request back, which is counted again elsewhere. */
  uncountRequest(principal: Principal): void {
    const caller = this.#callers.get(principal.srn);
    if (caller !== undefined) caller.tokens += 1;
  }

  /** @throws {HttpError} 429 */
  countRequest(principal: Principal, { requestsPerSecond: rate } = this.of(principal)): void {
    if (rate === 0) return;
    const caller = this.#caller(principal.srn, rate);
    const now = this.#options.now();
    caller.tokens = Math.min(rate * BURST_SECONDS, caller.tokens + ((now - caller.at) / 1000) * rate);
    caller.at = now;
    if (caller.tokens < 1) {
      throw tooMany(`more than ${rate} requests a second`, Math.ceil((1 - caller.tokens) / rate));
    }
    caller.tokens -= 1;
  }

  /**
   * Counts a query until the function that it returns is called.
   * @throws {HttpError} 429
   */
  beginQuery(
    principal: Principal,
    { concurrentQueries: max, requestsPerSecond: rate } = this.of(principal),
  ): () => void {
    const caller = this.#caller(principal.srn, rate);
    if (max !== 0 && caller.queries >= max) throw tooMany(`more than ${max} queries at once`, 1);
    caller.queries++;
    let ended = false;
    return () => {
      if (!ended) caller.queries--;
      ended = true;
    };
  }

  #caller(srn: string, rate: number): Caller {
    const known = this.#callers.get(srn);
    if (known !== undefined && known === this.#last) return known;
    const caller = known ?? { tokens: rate * BURST_SECONDS, at: this.#options.now(), queries: 0 };
    // Last in the map is who was here last.
    this.#callers.delete(srn);
    this.#callers.set(srn, caller);
    this.#last = caller;
    if (this.#callers.size > MAX_CALLERS) this.#forgetOne();
    return caller;
  }

  #forgetOne(): void {
    for (const [srn, { queries }] of this.#callers) {
      // Whoever has a query under way stays, so that it is taken off the right count.
      if (queries > 0) continue;
      this.#callers.delete(srn);
      return;
    }
  }
}

/** 0 is no limit, and so the most. */
function mostGenerous(list: readonly Partial<CallerLimits>[]): Partial<CallerLimits> {
  const most: { -readonly [Key in keyof CallerLimits]?: number } = {};
  for (const limits of list) {
    for (const [key, value] of Object.entries(limits) as [keyof CallerLimits, number][]) {
      const known = most[key];
      most[key] = known === undefined ? value : known === 0 || value === 0 ? 0 : Math.max(known, value);
    }
  }
  return most;
}

const LIMIT_OF_SETTING: Readonly<Record<string, keyof CallerLimits>> = {
  'max-requests-per-second': 'requestsPerSecond',
  'max-concurrent-queries': 'concurrentQueries',
  'query-timeout-ms': 'queryTimeoutMs',
  'max-rows-per-query': 'rowsPerQuery',
};

/**
 * Reads limits of roles or callers as they stand in a setting.
 * @param entries each `<name>:<limit>=<whole number>`, with a limit of `LIMIT_OF_SETTING`
 * @param whose such as `role`
 * @throws {TypeError} for an entry that is none, or that is there twice
 */
export function parseLimits(
  entries: readonly string[],
  whose: string,
): Readonly<Record<string, Partial<CallerLimits>>> {
  const byName = new Map<string, { -readonly [Key in keyof CallerLimits]?: number }>();
  for (const entry of entries) {
    // A name may hold a colon itself.
    const [, owner = '', name = '', value] = /^(.+):([a-z-]+)=(\d{1,9})$/.exec(entry) ?? [];
    const limit = LIMIT_OF_SETTING[name];
    if (limit === undefined) {
      const names = Object.keys(LIMIT_OF_SETTING).join('`, `');
      throw new TypeError(
        `\`${entry}\` must be \`${whose}:limit=number\`, such as \`analysts:max-concurrent-queries=8\`, with a limit of \`${names}\``,
      );
    }
    const limits = byName.get(owner) ?? {};
    if (limits[limit] !== undefined) throw new TypeError(`\`${name}\` of the ${whose} \`${owner}\` is given twice`);
    limits[limit] = Number(value);
    byName.set(owner, limits);
  }
  return Object.fromEntries(byName);
}

function tooMany(what: string, seconds: number): HttpError {
  return new HttpError(429, `${what} are too many for this caller: try again in ${seconds} s`, {
    headers: { 'retry-after': String(seconds) },
  });
}

const QUERY_PATH = /^\/(?:query|sql)(?:[/?]|$)/;

/** Whether a request asks the engine to run a query, by its address. */
function isQuery(request: FastifyRequest): boolean {
  return QUERY_PATH.test(request.url) && (request.method === 'POST' || /[?&]sql=/.test(request.url));
}

/**
 * Counts every authenticated request of `app`, and queries until their answers are out. Register it on the root, after authentication and before the
 * routes.
 */
export function registerLimits(app: FastifyInstance, limits: Limits): void {
  app.decorateRequest('queryTimeoutMs', undefined);
  app.decorateRequest('maxRows', undefined);
  app.addHook('preParsing', async (request: FastifyRequest, reply: FastifyReply) => {
    // Null on routes that anyone may call, whatever the type says.
    const principal = request.principal as Principal | null;
    if (principal === null) return;
    if (!isQuery(request)) return limits.countRequest(principal);
    const admitted = limits.admitQuery(principal);
    const { queryTimeoutMs, rowsPerQuery } = admitted.limits;
    if (queryTimeoutMs > 0) request.queryTimeoutMs = queryTimeoutMs;
    if (rowsPerQuery > 0) request.maxRows = rowsPerQuery;
    reply.raw.once('close', admitted.end);
  });
}
