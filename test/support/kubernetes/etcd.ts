import { request } from 'undici';

/** Discards the history of all objects by etcd's own HTTP interface. A watch from an earlier version then gets 410. */
export async function compactHistory(etcdUrl: string): Promise<void> {
  const call = async (path: string, body: object) => {
    const response = await request(`${etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
    return (await response.body.json()) as { header: { revision: string } };
  };
  const key = Buffer.from('/registry/').toString('base64');
  const { header } = await call('/v3/kv/range', { key, limit: '1' });
  await call('/v3/kv/compaction', { revision: header.revision, physical: true });
}

/** The objects that etcd has of a custom resource, as they are stored, by `<namespace>/<name>`. @param plural such as `roles` */
export async function storedObjects(
  etcdUrl: string,
  group: string,
  plural: string,
): Promise<ReadonlyMap<string, { readonly apiVersion: string }>> {
  const prefix = `/registry/${group}/${plural}/`;
  // The end of a range of all keys with the prefix: its last character, `/`, plus one.
  const body = { key: base64(prefix), range_end: base64(`${prefix.slice(0, -1)}0`) };
  const response = await request(`${etcdUrl}/v3/kv/range`, { method: 'POST', body: JSON.stringify(body) });
  const { kvs = [] } = (await response.body.json()) as { kvs?: { key: string; value: string }[] };
  return new Map(
    kvs.map(({ key, value }) => [
      Buffer.from(key, 'base64').toString().slice(prefix.length),
      JSON.parse(Buffer.from(value, 'base64').toString()) as { apiVersion: string },
    ]),
  );
}

const base64 = (text: string): string => Buffer.from(text).toString('base64');
