import { lookup } from 'node:dns/promises';
import type { GatewayAddress } from './peers.ts';

/**
 * Resolves all gateway addresses of a headless Service.
 * @param service `name:port`
 * @throws {Error} if the name cannot be resolved
 */
export function gatewaysOfService(service: string): () => Promise<readonly GatewayAddress[]> {
  const { host, port } = addressOf(service);
  return async () => {
    const found = await lookup(host, { all: true });
    return found.map(({ address }) => ({ host: address, port }));
  };
}

/** @param list entries `host:port` */
export function gatewaysOfList(list: readonly string[]): () => Promise<readonly GatewayAddress[]> {
  const addresses = list.map(addressOf);
  return async () => addresses;
}

/** @param text `host:port`, an IPv6 host in brackets; already validated by the settings */
function addressOf(text: string): GatewayAddress {
  const at = text.lastIndexOf(':');
  return { host: text.slice(0, at).replace(/^\[|\]$/g, ''), port: Number(text.slice(at + 1)) };
}
