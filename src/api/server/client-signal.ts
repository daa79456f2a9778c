import type { ServerResponse } from 'node:http';

/** Aborts when the client disconnects before the response is complete. Fastify's `request.signal` aborts at the end of a body, too. */
export function clientSignal({ raw }: { readonly raw: ServerResponse }): AbortSignal {
  const controller = new AbortController();
  const onClose = () => {
    // After end() Node has the whole response.
    if (!raw.writableEnded) controller.abort();
  };
  if (raw.destroyed) controller.abort();
  else raw.once('close', onClose);
  return controller.signal;
}
