import type { ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { cutConnection } from '../cut-connection.ts';

/** A client that takes nothing of its response for this long, or twice as long, is disconnected: what it does not take is in memory. */
const STALL_MS = 30_000;

/** @param onStall called when the client is disconnected */
export function disconnectStalledReader(response: ServerResponse, onStall: () => void, stallMs = STALL_MS): void {
  const { socket } = response;
  // In tests without a connection.
  if (!(socket instanceof Socket)) return;
  const wait = (): void => void socket.setTimeout(stallMs);
  response.on('timeout', () => {
    // The response is not ready yet.
    if (socket.writableLength === 0) return wait();
    onStall();
    cutConnection(response);
  });
  wait();
}
