import { fileURLToPath } from 'node:url';
import { Type } from 'typebox';
import { type PropertyValues, text } from '../../../platform/setting-schema.ts';
import { holderTag } from '../../request-id.ts';
import { codingOf, compressionSetting, defineStore, type StoreDefinition } from '../definition.ts';
import { GCS_STORE } from '../gcs/definition.ts';
import { S3_STORE } from '../s3/definition.ts';
import { FileStore } from './file-store.ts';

const DATA_DIR = 'olap.broker.pagination.file.data.dir';
const COMPRESSION = 'olap.broker.pagination.file.compression';
const TEMP_DIR = 'olap.broker.pagination.temp.dir';

/** Like Pinot, `file` accepts the URI of a bucket and then uses an object store. */
const OBJECT_STORES: Readonly<Record<string, StoreDefinition>> = { 's3:': S3_STORE, 'gs:': GCS_STORE };

export const FILE_STORE = defineStore({
  protocol: 'file',
  properties: {
    [TEMP_DIR]: text({
      description: 'Local directory for temporary files.',
      default: '/tmp/olap/query/broker',
      unit: 'path',
    }),
    [DATA_DIR]: Type.Optional(
      text({
        description:
          'Directory of the file store: a path, a `file:` URI, or an object-store URI (`s3://bucket/prefix`, `gs://bucket/prefix`).',
        unit: 'path',
      }),
    ),
    [COMPRESSION]: compressionSetting('file'),
  },
  required: DATA_DIR,
  place: DATA_DIR,
  async create(properties, context) {
    const location = properties[DATA_DIR];
    if (location === undefined)
      throw new TypeError(`\`${DATA_DIR}\` must be set: a folder, \`s3://bucket/prefix\` or \`gs://bucket/prefix\``);
    const objects = OBJECT_STORES[/^[a-z][a-z0-9+.-]*:/.exec(location)?.[0] ?? ''];
    if (objects !== undefined) return objects.create({ ...properties, ...placeOf(location, objects) }, context);
    const { gatewayId, clock, onProblem } = context;
    const tag = holderTag(gatewayId);
    const compression = codingOf(properties[COMPRESSION]);
    return new FileStore({
      dataDir: pathOf(location),
      tempDir: properties[TEMP_DIR],
      compression,
      tag,
      clock,
      onProblem,
    });
  },
});

/** The properties that give an object store the bucket and the prefix of a URI. */
function placeOf(uri: string, { protocol }: StoreDefinition): PropertyValues {
  const { hostname, pathname } = new URL(uri);
  return {
    [`olap.broker.pagination.${protocol}.bucket`]: hostname === '' ? undefined : hostname,
    [`olap.broker.pagination.${protocol}.prefix`]: decodeURIComponent(pathname),
  };
}

function pathOf(location: string): string {
  if (location.startsWith('file:')) return fileURLToPath(location);
  if (!/^[a-z][a-z0-9+.-]*:\/\//i.test(location)) return location;
  throw new TypeError(`\`${DATA_DIR}\` is \`${location}\`, but only \`file:\`, \`s3:\` and \`gs:\` URIs are known`);
}
