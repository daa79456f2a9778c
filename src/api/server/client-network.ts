import { isIPv6 } from 'node:net';

/** Groups of 16 bits of the prefix that an IPv6 client is commonly given as a whole. */
const PREFIX_GROUPS = 4;
const MAPPED_GROUPS = '0:0:0:0:0:ffff';

/**
 * The client to which failures of an address are attributed: an IPv4 address itself, and the /64 of an IPv6 address, because a client can use
 * every address of it. An IPv4-mapped IPv6 address (`::ffff:192.0.2.1`, in any spelling) is the IPv4 address.
 * @param address of a socket or from `X-Forwarded-For`, also with a zone (`fe80::1%eth0`); any other text is returned as it is
 */
export function clientNetwork(address: string): string {
  if (!isIPv6(address)) return address;
  const groups = groupsOf(address.split('%', 1)[0] ?? '');
  if (groups.slice(0, 6).join(':') === MAPPED_GROUPS) {
    return groups
      .slice(6)
      .flatMap((group) => [Number.parseInt(group, 16) >> 8, Number.parseInt(group, 16) & 0xff])
      .join('.');
  }
  return `${groups.slice(0, PREFIX_GROUPS).join(':')}::/64`;
}

/** The eight groups of a valid IPv6 address, in lower case without leading zeros. */
function groupsOf(address: string): string[] {
  const [head = [], tail] = address.split('::', 2).map(groupsIn);
  const omitted = tail === undefined ? 0 : 8 - head.length - tail.length;
  return [...head, ...Array.from({ length: omitted }, () => '0'), ...(tail ?? [])];
}

function groupsIn(part: string): string[] {
  return part === '' ? [] : part.split(':').flatMap(hexGroups);
}

/** A group, or the two of a dotted IPv4 address at the end. */
function hexGroups(group: string): string[] {
  const bytes = group.split('.').map(Number);
  if (bytes.length !== 4) return [Number.parseInt(group, 16).toString(16)];
  const [a = 0, b = 0, c = 0, d = 0] = bytes;
  return [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
}
