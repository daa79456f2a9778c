import { type IncomingMessage, type ServerResponse } from 'node:http';
import { withErrorListener } from '../platform/stream-errors.ts';
import type { Admission, Listener, Serve } from './server/admission/admission.ts';

import { notFound } from './server/app-errors.ts';
import { HttpError } from './server/errors.ts';
import { classify, keepClass, type RequestClass } from './server/request/classify.ts';
import { type DataPlane, isData } from './queries/data-plane/data-plane.ts';
import { Exchange, type ExchangeDependencies } from './queries/data-plane/exchange.ts';
import { checkHeaders } from './server/request/request-headers.ts';

export interface DispatcherDependencies {
  /** Absent where no queries are served, as in tests of other routes. */
  readonly dataPlane: DataPlane | undefined;
  /** Serves everything else: fastify. */
  readonly controlPlane: Listener;
  readonly exchange: ExchangeDependencies;
  readonly admission: Admission;
  /** Milliseconds of waiting for its turn after which a request gets 503. */
  readonly maxWaitMs: number;
}

/** Route label of requests that are rejected before routing. */
const NO_ROUTE = 'none';

/** Log, limits, streams and time-outs each add listeners to a response; Node warns above 10. */
const MAX_LISTENERS = 24;

/** Entry point of all requests: classifies each one, rejects ambiguous ones, and passes the rest to the data or control plane. */
export function createDispatcher({
  dataPlane,
  controlPlane,
  exchange,
  admission,
  maxWaitMs,
}: DispatcherDependencies): Listener {
  const serve: Serve = (request: IncomingMessage, response: ServerResponse, waitedMs) => {
    // A write to a response after its end is an `error` event.
    withErrorListener(response).setMaxListeners(MAX_LISTENERS);
    let requestClass: RequestClass;
    try {
      if (waitedMs > maxWaitMs) throw overloaded();
      requestClass = classify(request.url ?? '');
      // Everything behind reads the path that was classified, whatever its spelling.
      request.url = requestClass.url;
      checkHeaders(request);
    } catch (error) {
      return new Exchange(request, response, NO_ROUTE, exchange).fail(error);
    }
    if (!isData(requestClass.kind)) {
      keepClass(request, requestClass);
      controlPlane(request, response);
    } else if (dataPlane !== undefined) dataPlane.serve(request, response, requestClass);
    else {
      const rejected = new Exchange(request, response, NO_ROUTE, exchange);
      rejected.fail(notFound(rejected));
    }
  };
  return admission.listener(serve);
}

function overloaded(): HttpError {
  return new HttpError(503, 'the gateway is overloaded: try again in a few seconds', {
    headers: { 'retry-after': '5' },
  });
}
