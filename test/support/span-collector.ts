import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { once } from './once.ts';

/** A span as a collector receives it: the attributes are plain values. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly name: string;
  /** As in the protocol: 1 internal, 2 server, 3 client. */
  readonly kind: number;
  /** 2 for an error. */
  readonly status: number;
  readonly startNanos: bigint;
  readonly endNanos: bigint;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly resource: Readonly<Record<string, unknown>>;
  /** The JSON of the span. */
  readonly text: string;
}

type Json = Readonly<Record<string, unknown>>;
interface Attribute {
  readonly key: string;
  readonly value: Json;
}
interface Exported {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly { readonly spans: readonly Json[] }[];
  }[];
}

/** A collector of OTLP over HTTP with JSON (opentelemetry-proto, `trace_service.proto`), read without the library that writes it. */
export class SpanCollector {
  readonly spans: ReceivedSpan[] = [];
  readonly requests: { readonly url: string; readonly headers: IncomingMessage['headers'] }[] = [];
  /** Instead of the response to an export. */
  respond: ((response: ServerResponse) => void) | undefined;
  readonly #server: Server;

  private constructor() {
    this.#server = createServer((request, response) => {
      const chunks: Buffer[] = [];
      request.on('data', (chunk: Buffer) => chunks.push(chunk));
      request.on('end', () => {
        const body = Buffer.concat(chunks);
        this.requests.push({ url: request.url ?? '', headers: request.headers });
        if (this.respond !== undefined) return this.respond(response);
        this.#receive(request.headers['content-encoding'] === 'gzip' ? gunzipSync(body) : body);
        response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
      });
    });
  }

  static async start(): Promise<SpanCollector> {
    const collector = new SpanCollector();
    await once(collector.#server.listen(0, '127.0.0.1'), 'listening');
    return collector;
  }

  get url(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** The span of a request of a client. */
  requestSpan(traceId: string, route: string): ReceivedSpan | undefined {
    return this.spans.find(
      (span) => span.traceId === traceId && span.kind === 2 && span.attributes['http.route'] === route,
    );
  }

  childrenOf({ spanId }: ReceivedSpan): ReceivedSpan[] {
    return this.spans.filter(({ parentSpanId }) => parentSpanId === spanId);
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await once(this.#server.close(), 'close');
  }

  #receive(body: Buffer): void {
    const { resourceSpans } = JSON.parse(body.toString()) as Exported;
    for (const { resource, scopeSpans } of resourceSpans) {
      const about = plain(resource.attributes);
      for (const span of scopeSpans.flatMap(({ spans }) => spans)) this.spans.push(spanOf(span, about));
    }
  }
}

function spanOf(span: Json, resource: Json): ReceivedSpan {
  const { parentSpanId = '', status = {}, attributes = [] } = span;
  return {
    traceId: String(span['traceId']),
    spanId: String(span['spanId']),
    parentSpanId: parentSpanId === '' ? undefined : String(parentSpanId),
    name: String(span['name']),
    kind: Number(span['kind']),
    status: Number((status as { code?: unknown }).code ?? 0),
    startNanos: BigInt(String(span['startTimeUnixNano'])),
    endNanos: BigInt(String(span['endTimeUnixNano'])),
    attributes: plain(attributes as readonly Attribute[]),
    resource,
    text: JSON.stringify(span),
  };
}

function plain(attributes: readonly Attribute[]): Json {
  return Object.fromEntries(attributes.map(({ key, value }) => [key, valueOf(value)]));
}

function valueOf(value: Json): unknown {
  const [[kind, content] = []] = Object.entries(value);
  if (kind === 'intValue') return Number(content);
  if (kind === 'arrayValue') return ((content as { values?: readonly Json[] }).values ?? []).map(valueOf);
  return content;
}
