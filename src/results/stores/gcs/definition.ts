import { Type } from 'typebox';
import { text } from '../../../platform/setting-schema.ts';
import { codingOf, compressionSetting, defineStore } from '../definition.ts';
import { observedClient } from '../object/observed-client.ts';
import { objectPrefix, requireBucket } from '../object/object-client.ts';
import { ObjectResultStore } from '../object/object-store.ts';

const COMPRESSION = 'olap.broker.pagination.gcs.compression';
const BUCKET = 'olap.broker.pagination.gcs.bucket';

export const GCS_STORE = defineStore({
  protocol: 'gcs',
  properties: {
    [BUCKET]: Type.Optional(text({ description: 'Bucket of the gcs store.' })),
    'olap.broker.pagination.gcs.prefix': text({
      description: 'Prefix of all object names in the bucket.',
      default: '',
    }),
    'olap.broker.pagination.gcs.endpoint': Type.Optional(
      text({ description: 'Base URL of the storage API; Google Cloud Storage where not set.', unit: 'url' }),
    ),
    'olap.broker.pagination.gcs.public.endpoint': Type.Optional(
      text({
        description:
          'Base URL of the storage API in links to results, where clients reach it by another address than the gateway; `olap.broker.pagination.gcs.endpoint` where not set.',
        unit: 'url',
      }),
    ),
    [COMPRESSION]: compressionSetting('gcs'),
  },
  required: BUCKET,
  place: 'olap.broker.pagination.gcs.prefix',
  async create(properties, context) {
    const bucket = requireBucket(properties[BUCKET], BUCKET);
    const { GcsObjectClient } = await import('./gcs-client.ts');
    const client = new GcsObjectClient({
      bucket,
      prefix: objectPrefix(properties['olap.broker.pagination.gcs.prefix']),
      endpoint: properties['olap.broker.pagination.gcs.endpoint'],
      publicEndpoint: properties['olap.broker.pagination.gcs.public.endpoint'],
      clock: context.clock,
    });
    const url = properties['olap.broker.pagination.gcs.endpoint'] ?? 'https://storage.googleapis.com';
    return new ObjectResultStore(observedClient(client, url, context), context, codingOf(properties[COMPRESSION]));
  },
});
