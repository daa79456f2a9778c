import type { IncomingMessage } from 'node:http';
import { TLSSocket } from 'node:tls';
import proxyAddr, { compile } from '@fastify/proxy-addr';

/** Whether the address belongs to a proxy whose `X-Forwarded-For` and `X-Forwarded-Proto` are trusted. */
export type Trust = (address: string, hop: number) => boolean;

/** Interprets the setting in the same way as fastify. Undefined where no proxy is trusted. */
export function trustOf(setting: boolean | string | readonly string[]): Trust | undefined {
  if (typeof setting === 'boolean') return setting ? () => true : undefined;
  const list = typeof setting === 'string' ? setting.split(',').map((address) => address.trim()) : [...setting];
  return compile(list);
}

/** The client address, from `X-Forwarded-For` where the proxy is trusted. */
export function clientAddress(request: IncomingMessage, trust: Trust | undefined): string {
  const { remoteAddress = '' } = request.socket;
  return trust === undefined ? remoteAddress : proxyAddr(request, trust);
}

/** Of the client's connection, from `X-Forwarded-Proto` where the proxy is trusted: the last value, as in fastify. */
export function clientProtocol(request: IncomingMessage, trust: Trust | undefined): 'http' | 'https' {
  const { socket, headers } = request;
  const forwarded = headers['x-forwarded-proto'];
  if (forwarded !== undefined && forwarded !== '' && trust?.(socket.remoteAddress ?? '', 0) === true) {
    return String(forwarded).split(',').at(-1)?.trim() === 'https' ? 'https' : 'http';
  }
  return socket instanceof TLSSocket ? 'https' : 'http';
}
