import { createServer, type ListenOptions, type Server, type Socket } from 'node:net';
import { once } from '../once.ts';

/** A request of the test's process to the process in the node's network namespace; the response is `{id}` or `{id, error}`. */
export interface BridgeRequest {
  readonly id: number;
  /** `to-host`: listens on host:port there and forwards to the path; `to-node`: listens on the path and forwards to host:port. */
  readonly direction: 'to-host' | 'to-node';
  readonly host: string;
  readonly port: number;
  /** Of a socket in the file system, on which the other side listens or connects. */
  readonly path: string;
}

export interface BridgeAnswer {
  readonly id: number;
  readonly error?: string;
}

/** Listens, and joins every connection with one that `open` makes; the end of one half is passed on as such, a failure ends both. */
export async function listen(options: ListenOptions, open: () => Socket): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (client) => {
    const upstream = open();
    for (const socket of [client, upstream]) {
      socket.on('error', () => {}); // the peer sees its connection end, which is all that a network would show it
      socket.on('close', () => {
        client.destroySoon();
        upstream.destroySoon();
      });
    }
    client.pipe(upstream).pipe(client);
  });
  await once(server.listen(options), 'listening');
  return server;
}
