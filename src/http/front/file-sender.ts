import type { Socket } from 'node:net';
import { TLSSocket } from 'node:tls';

/** What the system can do with a socket that Node has no call for. The socket must have nothing to send of its own. Both give the bytes that were taken; 0 where none are now, or never: they must be written then. */
export interface FileSender {
  /** Sends bytes that go out together with those that follow at once. */
  head(socket: Socket, bytes: Uint8Array): number;
  /** Sends bytes `from` to `to` of a file from where the system keeps them: nothing is copied into this process. */
  file(socket: Socket, descriptor: number, from: number, to: number): number;
}

type Call<Arguments extends readonly unknown[]> = (out: number, ...given: Arguments) => number | bigint;

/** Where an offset of a file has 64 bits whatever it is called. */
const ARCHITECTURES = new Set<NodeJS.Architecture>(['x64', 'arm64']);
/** MSG_MORE, MSG_NOSIGNAL and MSG_DONTWAIT, as Linux has them there. */
const MORE_FOLLOWS = 0x8000 | 0x4000 | 0x40;

/**
 * `sendfile(2)` and `send(2)`.
 * @returns undefined where this system has none
 * @throws {Error} where the package that calls them is not installed, or cannot be used here
 */
export async function loadFileSender(): Promise<FileSender | undefined> {
  if (process.platform !== 'linux' || !ARCHITECTURES.has(process.arch)) return undefined;
  const { load } = await import('koffi');
  const system = load(null);
  const sendFile: Call<[descriptor: number, offset: BigInt64Array, count: number]> = system.func(
    'int64_t sendfile(int out, int in, int64_t *offset, size_t count)',
  );
  const send: Call<[bytes: Uint8Array, count: number, flags: number]> = system.func(
    'int64_t send(int out, const void *bytes, size_t count, int flags)',
  );
  const offset = new BigInt64Array(1);
  return {
    head(socket, bytes) {
      const out = descriptorOf(socket);
      return out === undefined ? 0 : taken(send(out, bytes, bytes.length, MORE_FOLLOWS));
    },
    file(socket, descriptor, from, to) {
      const out = descriptorOf(socket);
      offset[0] = BigInt(from);
      return out === undefined ? 0 : taken(sendFile(out, descriptor, offset, to - from));
    },
  };
}

/** Whatever is wrong is met again, and told, by whoever writes the same bytes. */
function taken(answer: number | bigint): number {
  return Math.max(0, Number(answer));
}

/** Whether what is written to the socket's descriptor is what its client reads. */
export function isPlain(socket: Socket): boolean {
  return !(socket instanceof TLSSocket) && descriptorOf(socket) !== undefined;
}

/** Node has no public name for it. */
function descriptorOf(socket: Socket): number | undefined {
  const { fd } = (socket as { _handle?: { fd?: unknown } | null })._handle ?? {};
  return typeof fd === 'number' && fd >= 0 ? fd : undefined;
}
