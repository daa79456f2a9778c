import { SocketAddress } from 'node:net';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { clientNetwork } from '../../../../src/api/server/client-network.ts';

describe('the network of a client', () => {
  it.each([
    ['192.0.2.1', '192.0.2.1'],
    ['::1', '0:0:0:0::/64'],
    ['::', '0:0:0:0::/64'],
    ['2001:db8::', '2001:db8:0:0::/64'],
    ['2001:0DB8:0001:0000:0000:0000:0000:0001', '2001:db8:1:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['1:2:3:4:5:6:7::', '1:2:3:4::/64'],
    ['::ffff:203.0.113.7', '203.0.113.7'],
    ['::ffff:cb00:7107', '203.0.113.7'],
    ['::203.0.113.7', '0:0:0:0::/64'],
    ['64:ff9b::203.0.113.7', '64:ff9b:0:0::/64'],
    ['', ''],
    ['unknown', 'unknown'],
    ['1::2::3', '1::2::3'],
  ])('of %s is %s', (address, network) => expect(clientNetwork(address)).toBe(network));

  it('does not depend on the spelling, nor on the last 64 bits', () => {
    const group = fc.integer({ min: 0, max: 0xff_ff });
    const eight = fc.array(fc.oneof(group, fc.constant(0)), { minLength: 8, maxLength: 8 });
    fc.assert(
      fc.property(eight, eight, (groups, others) => {
        const spelled = groups.map((value) => value.toString(16).padStart(4, '0').toUpperCase()).join(':');
        const short = new SocketAddress({ address: spelled, family: 'ipv6' }).address;
        expect(clientNetwork(spelled)).toBe(clientNetwork(short));
        fc.pre(groups.slice(0, 4).some((value) => value !== 0));
        const neighbour = [...groups.slice(0, 4), ...others.slice(4)].map((value) => value.toString(16)).join(':');
        expect(clientNetwork(neighbour)).toBe(clientNetwork(spelled));
      }),
    );
  });
});
