import {
  type Attributes,
  type Context,
  defaultTextMapGetter,
  defaultTextMapSetter,
  ROOT_CONTEXT,
  type Span,
  SpanKind,
  SpanStatusCode,
  type TextMapPropagator,
  trace,
  type Tracer,
} from '@opentelemetry/api';

/** Creates the spans of requests. There is none where traces are off, so that they cost nothing then. */
export interface Tracing {
  readonly tracer: Tracer;
  /** Reads and writes `traceparent` and `tracestate`. */
  readonly propagator: TextMapPropagator;
}

export type SpanRole = 'internal' | 'client';

/** Spans below that of one request. A download in many pages, or a retried call, would create any number. */
const MAX_CHILDREN = 128;

/**
 * A span. It is passed on with the request that it belongs to, and is never looked up in an asynchronous context: connections are shared, so the context of
 * what arrives on one may be that of another request.
 */
export class TraceSpan {
  readonly #tracing: Tracing;
  readonly #span: Span;
  readonly #context: Context;
  #children = 0;

  private constructor(tracing: Tracing, span: Span, parent: Context) {
    this.#tracing = tracing;
    this.#span = span;
    this.#context = trace.setSpan(parent, span);
  }

  /**
   * Starts the span of a request.
   * @param headers those of the request: `traceparent` continues the trace of the caller
   */
  static ofRequest(
    tracing: Tracing,
    name: string,
    headers: Readonly<Record<string, string | string[] | undefined>>,
    attributes: Attributes,
  ): TraceSpan {
    const { traceparent, tracestate } = headers;
    const carrier = { traceparent, tracestate };
    const parent =
      traceparent === undefined
        ? ROOT_CONTEXT
        : tracing.propagator.extract(ROOT_CONTEXT, carrier, defaultTextMapGetter);
    const span = tracing.tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
    return new TraceSpan(tracing, span, parent);
  }

  /** Starts a span below this one, which may have ended. @returns undefined beyond the limit of a request */
  child(name: string, role: SpanRole, attributes: Attributes = {}): TraceSpan | undefined {
    if (this.#children >= MAX_CHILDREN) return undefined;
    this.#children++;
    const kind = role === 'client' ? SpanKind.CLIENT : SpanKind.INTERNAL;
    const span = this.#tracing.tracer.startSpan(name, { kind, attributes }, this.#context);
    return new TraceSpan(this.#tracing, span, this.#context);
  }

  /** Lower-case hexadecimal. */
  get traceId(): string {
    return this.#span.spanContext().traceId;
  }

  /** The headers by which the receiver of a request continues the trace. */
  get headers(): Readonly<Record<string, string>> {
    const carrier: Record<string, string> = {};
    this.#tracing.propagator.inject(this.#context, carrier, defaultTextMapSetter);
    return carrier;
  }

  rename(name: string): void {
    this.#span.updateName(name);
  }

  set(attributes: Attributes): void {
    this.#span.setAttributes(attributes);
  }

  /** Marks the span as failed. @param type a status or a code, never a message: it could quote a query */
  fail(type: string): void {
    this.#span.setAttribute('error.type', type);
    this.#span.setStatus({ code: SpanStatusCode.ERROR });
  }

  end(): void {
    this.#span.end();
  }
}

/** Runs `work` in a span below `parent`; without tracing it only runs it. */
export function traced<T>(
  parent: TraceSpan | undefined,
  name: string,
  work: () => Promise<T>,
  attributes?: Attributes,
): Promise<T> {
  const span = parent?.child(name, 'internal', attributes);
  return span === undefined ? work() : endingWith(span, work);
}

async function endingWith<T>(span: TraceSpan, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    span.fail(errorType(error));
    throw error;
  } finally {
    span.end();
  }
}

/** The status or code of an error, otherwise its class. */
export function errorType(error: unknown): string {
  if (typeof error !== 'object' || error === null) return '_OTHER';
  const { statusCode, code, name } = error as { statusCode?: unknown; code?: unknown; name?: unknown };
  for (const type of [statusCode, code, name]) {
    if (typeof type === 'number' || (typeof type === 'string' && /^[\w.-]{1,64}$/.test(type))) return String(type);
  }
  return '_OTHER';
}
