import { Type } from 'typebox';
import { flag, text } from '../../../platform/setting-schema.ts';
import { codingOf, compressionSetting, defineStore } from '../definition.ts';
import { observedClient } from '../object/observed-client.ts';
import { objectPrefix, requireBucket } from '../object/object-client.ts';
import { ObjectResultStore } from '../object/object-store.ts';

const COMPRESSION = 'olap.broker.pagination.s3.compression';
const BUCKET = 'olap.broker.pagination.s3.bucket';

export const S3_STORE = defineStore({
  protocol: 's3',
  properties: {
    [BUCKET]: Type.Optional(text({ description: 'Bucket of the s3 store.' })),
    'olap.broker.pagination.s3.prefix': text({ description: 'Prefix of all object names in the bucket.', default: '' }),
    'olap.broker.pagination.s3.endpoint': Type.Optional(
      text({ description: 'Base URL of the S3 API; Amazon S3 where not set.', unit: 'url' }),
    ),
    'olap.broker.pagination.s3.public.endpoint': Type.Optional(
      text({
        description:
          'Base URL of the S3 API in links to results, where clients reach it by another address than the gateway; `olap.broker.pagination.s3.endpoint` where not set.',
        unit: 'url',
      }),
    ),
    'olap.broker.pagination.s3.region': Type.Optional(text({ description: 'Region of the bucket.' })),
    'olap.broker.pagination.s3.path.style': flag({
      description: 'Path-style addresses: `endpoint/bucket/key` instead of `bucket.endpoint/key`.',
      default: false,
    }),
    'olap.broker.pagination.s3.access.key': Type.Optional(
      text({
        description: 'Access key. Where not set, the SDK’s default chain applies (role, environment, file).',
        unit: 'secret',
      }),
    ),
    'olap.broker.pagination.s3.secret.key': Type.Optional(text({ description: 'Secret access key.', unit: 'secret' })),
    [COMPRESSION]: compressionSetting('s3'),
    'olap.broker.storage.factory.s3.region': Type.Optional(
      text({ description: 'Region where `olap.broker.pagination.file.data.dir` is an `s3:` URI.' }),
    ),
    'olap.broker.storage.factory.class.s3': Type.Optional(
      text({ description: 'Accepted for compatibility and ignored; the schemes `s3` and `gs` are built in.' }),
    ),
  },
  required: BUCKET,
  place: 'olap.broker.pagination.s3.prefix',
  async create(properties, context) {
    const bucket = requireBucket(properties[BUCKET], BUCKET);
    const { S3ObjectClient } = await import('./s3-client.ts');
    const endpoint = properties['olap.broker.pagination.s3.endpoint'];
    const region =
      properties['olap.broker.pagination.s3.region'] ?? properties['olap.broker.storage.factory.s3.region'];
    const client = new S3ObjectClient({
      bucket,
      prefix: objectPrefix(properties['olap.broker.pagination.s3.prefix']),
      endpoint,
      publicEndpoint: properties['olap.broker.pagination.s3.public.endpoint'],
      region,
      pathStyle: properties['olap.broker.pagination.s3.path.style'],
      accessKeyId: properties['olap.broker.pagination.s3.access.key'],
      secretAccessKey: properties['olap.broker.pagination.s3.secret.key'],
    });
    const url = endpoint ?? `https://s3${region === undefined ? '' : `.${region}`}.amazonaws.com`;
    return new ObjectResultStore(observedClient(client, url, context), context, codingOf(properties[COMPRESSION]));
  },
});
