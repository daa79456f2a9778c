import { Type } from 'typebox';
import { text, texts } from '../../platform/setting-schema.ts';

/** Connections to Pinot. */
export const PINOT_SETTINGS = {
  controllers: texts({
    description: 'Base URLs of the Pinot controllers. If one is unavailable, the next one is used.',
    env: 'OLAP_CONTROLLER',
    default: ['http://127.0.0.1:9000'],
    unit: 'url',
  }),
  brokers: texts({
    description:
      'Base URLs of the Pinot brokers. If not set, the gateway reads the brokers of each table from the controller.',
    default: [],
    unit: 'url',
  }),
  'engine-credential-file': Type.Optional(
    text({
      description:
        'File with the gateway’s credential for Pinot: `Basic …`, `Bearer …`, `user:password` or a token. Changes are read without a restart.',
      unit: 'path',
    }),
  ),
  'engine-ca-file': Type.Optional(
    text({ description: 'PEM file of the certificate authorities for connections to Pinot.', unit: 'path' }),
  ),
};
