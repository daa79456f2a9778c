import { requestPieces } from '../../../../src/pinot/pieces.ts';
import type { ResponseSink, EngineEndpoint, EngineError, EngineRequest } from '../../../../src/pinot/types.ts';

/** What a caller gets of a response. */
export interface Seen {
  /** Undefined if there was no response. */
  readonly status?: number;
  /** As Latin-1. */
  readonly body: string;
  /** `code` of the EngineError, or the name of another error; undefined for a complete response. */
  readonly error?: string;
}

export type Way = (endpoint: EngineEndpoint, request: EngineRequest) => Promise<Seen>;

/** All ways in which the gateway sends requests to the engine. */
export const WAYS: Readonly<Record<string, Way>> = {
  request: (endpoint, request) => read(endpoint.request(request).then(({ status, body }) => ({ status, body }))),
  requestPieces: (endpoint, request) =>
    read(requestPieces(endpoint, request).then(({ status, pieces, body }) => ({ status, body: pieces ?? body }))),
  deliver: (endpoint, request) => delivered(endpoint, request, false),
  'deliver, held after each piece': (endpoint, request) => delivered(endpoint, request, true),
};

async function read(
  answer: Promise<{ readonly status: number; readonly body: AsyncIterable<Uint8Array> }>,
): Promise<Seen> {
  let body = '';
  let status: number | undefined;
  try {
    const given = await answer;
    ({ status } = given);
    for await (const piece of given.body) body += Buffer.from(piece).toString('latin1');
    return { status, body };
  } catch (error) {
    return { ...(status !== undefined && { status }), body, error: nameOf(error) };
  }
}

async function delivered(endpoint: EngineEndpoint, request: EngineRequest, holds: boolean): Promise<Seen> {
  const { promise, resolve } = Promise.withResolvers<Seen>();
  let body = '';
  let status = 0;
  let resume = (): void => undefined;
  const sink: ResponseSink = {
    onAsked: (flow) => (resume = () => flow.resume()),
    onHeaders: (head) => ({ status } = head),
    onData: (chunk) => {
      body += chunk.toString('latin1');
      if (holds) setImmediate(resume);
      return !holds;
    },
    onEnd: () => resolve({ status, body }),
    onBroken: (error) => resolve({ status, body, error: nameOf(error) }),
  };
  try {
    await endpoint.deliver?.(request, sink);
  } catch (error) {
    return { body: '', error: nameOf(error) };
  }
  return promise;
}

function nameOf(error: unknown): string {
  const { name, code } = error as EngineError;
  return name === 'EngineError' ? code : name;
}
