import proxyAddr from '@fastify/proxy-addr';
import type { LaneRequest } from './lane.ts';

/** Whether an address is that of a proxy whose `X-Forwarded-For` is believed. */
export type Trust = (address: string, hop: number) => boolean;

/**
 * The address of who asks, as the framework tells it.
 * @param trust no proxy is believed where absent
 */
export function clientAddress(request: LaneRequest, trust: Trust | undefined): string {
  const { remoteAddress, rawHeaders } = request;
  if (trust === undefined) return remoteAddress;
  const given: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    if (rawHeaders[i]?.toLowerCase() === 'x-forwarded-for') given.push(rawHeaders[i + 1] ?? '');
  }
  const headers = { 'x-forwarded-for': given.length === 0 ? undefined : given.join(', ') };
  return proxyAddr({ headers, socket: { remoteAddress } } as unknown as Parameters<typeof proxyAddr>[0], trust);
}
