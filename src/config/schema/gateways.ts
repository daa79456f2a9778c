import { Type } from 'typebox';
import { integer, text, texts } from '../../platform/setting-schema.ts';

const HOST_PORT = '^[A-Za-z0-9._-]+:\\d{1,5}$|^\\[[0-9A-Fa-f:.]+\\]:\\d{1,5}$';

/** How the gateways of a deployment reach each other. */
export const GATEWAYS_SETTINGS = {
  'broker-id': Type.Optional(
    text({
      description: 'Id of this gateway, the `brokerId` in responses.',
      env: 'POD_NAME',
      computedDefault: 'the host name',
    }),
  ),
  'advertise-host': Type.Optional(
    text({
      description: 'Host name or address at which other gateways reach this one.',
      env: 'POD_IP',
      computedDefault: 'the host name',
    }),
  ),
  'advertise-port': Type.Optional(
    integer({
      description: 'Port at which other gateways reach this one.',
      minimum: 1,
      maximum: 65_535,
      computedDefault: '`port`',
    }),
  ),
  peers: texts({
    description: 'The other gateways, each `host:port`. Alternative to `peers-service`.',
    default: [],
    pattern: HOST_PORT,
    expected: 'an address such as `gateway-1.gateways:8080`',
  }),
  'peers-service': Type.Optional(
    text({
      description: 'Headless Service of the gateways, `name:port`.',
      pattern: HOST_PORT,
      expected: 'an address such as `olap-warden-gateway-peers:8080`',
    }),
  ),
};
