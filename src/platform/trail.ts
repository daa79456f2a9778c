import { redactedStart } from './credentials-in-text.ts';
import type { TraceSpan } from './tracing.ts';

/** Tables that a record names. Others are counted. */
const MAX_TABLES = 8;
const MAX_TABLE_LENGTH = 128;

/** What a request of a client caused, beyond its response: for its access record and its trace. */
export class Trail {
  /** The span of the request; undefined where traces are off. */
  readonly span: TraceSpan | undefined;
  /** `host:port` of the upstream that was asked last; undefined where none was. */
  upstream: string | undefined;
  /** Milliseconds until upstreams had begun to respond, or had failed, in total. */
  upstreamMs = 0;
  /** How often a request to an upstream was sent again. */
  retries = 0;
  #tables: Set<string> | undefined;
  #conditions: Map<string, string> | undefined;
  #others = 0;

  constructor(span?: TraceSpan) {
    this.span = span;
  }

  /** Access to a table was decided. */
  addTable(name: string): void {
    const tables = (this.#tables ??= new Set());
    if (tables.has(name)) return;
    if (tables.size < MAX_TABLES) tables.add(name);
    else this.#others++;
  }

  /** A table was read in part only. @param id names the conditions */
  addConditions(table: string, id: string): void {
    const conditions = (this.#conditions ??= new Map());
    if (conditions.size < MAX_TABLES) conditions.set(table, id);
  }

  /** Names of the conditions of the first tables that were read in part; undefined where there is none. */
  get conditions(): readonly string[] | undefined {
    if (this.#conditions === undefined) return undefined;
    return [...this.#conditions].map(([table, id]) => `${redactedStart(table, MAX_TABLE_LENGTH)} ${id}`);
  }

  /** The first tables, and how many more decisions there were about others; undefined where the request is about no table. */
  get tables(): readonly string[] | undefined {
    if (this.#tables === undefined) return undefined;
    const names = [...this.#tables].map((name) => redactedStart(name, MAX_TABLE_LENGTH));
    return this.#others === 0 ? names : [...names, `and ${this.#others} more`];
  }
}
