import { Type } from 'typebox';
import { flag, text } from '../../platform/setting-schema.ts';

/** How the results of the health checks reach other systems. */
export const HEALTH_SETTINGS = {
  'health-webhook-url': Type.Optional(
    text({
      description:
        'URL that receives failing health checks in the format of an Alertmanager webhook, for clusters without Prometheus. See [operations.md](operations.md#webhook-of-the-health-checks).',
      unit: 'url',
    }),
  ),
  'health-webhook-credential-file': Type.Optional(
    text({
      description:
        'File with the credential for the webhook: `Basic …`, `Bearer …`, `user:password` or a token. Changes are read without a restart.',
      unit: 'path',
    }),
  ),
  'health-webhook-allow-http': flag({
    description:
      'Whether `health-webhook-url` may be an `http` URL. The alerts and the credential are sent in clear text.',
    default: false,
  }),
};
