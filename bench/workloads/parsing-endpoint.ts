import { buffer } from 'node:stream/consumers';
import { Readable } from 'node:stream';
import { deliver } from '../../src/pinot/delivery.ts';
import type { EngineEndpoint } from '../../src/pinot/types.ts';

/** What `JSON.parse` takes for the responses of a run. */
export interface Parsed {
  bytes: number;
  /** CPU of `JSON.parse`, with the conversion of the bytes to text, milliseconds. */
  cpuMs: number;
}

/**
 * An endpoint that also parses each JSON response with `JSON.parse`, alone and when it is complete, before the caller gets its bytes. The CPU
 * of the parser is added to `parsed`.
 */
export function parsing(endpoint: EngineEndpoint, parsed: Parsed): EngineEndpoint {
  return {
    url: endpoint.url,
    async request(request) {
      const answer = await endpoint.request(request);
      const body = await buffer(answer.body);
      parse(body, parsed);
      return { ...answer, body: Readable.from([body]) };
    },
    async deliver(request, sink) {
      const pieces: Buffer[] = [];
      await deliver(endpoint, request, {
        onAsked: (flow) => sink.onAsked(flow),
        onHeaders: (head) => sink.onHeaders(head),
        onData: (piece) => {
          pieces.push(piece);
          return true;
        },
        onEnd: () => {
          parse(Buffer.concat(pieces), parsed);
          for (const piece of pieces) sink.onData(piece);
          sink.onEnd();
        },
        onBroken: (error) => sink.onBroken(error),
      });
    },
  };
}

function parse(body: Buffer, parsed: Parsed): void {
  const before = process.cpuUsage();
  try {
    JSON.parse(body.toString());
  } catch {
    // `/health` responds with text.
  }
  const { user, system } = process.cpuUsage(before);
  parsed.bytes += body.length;
  parsed.cpuMs += (user + system) / 1_000;
}
