import type { ObjectStoreSettings } from '../../src/results/settings.ts';
import { type ObjectServer, startObjectServer } from './object-servers.ts';

export interface GcsServer extends ObjectServer {
  /** Makes a bucket, and tells how to reach it. */
  bucket(name: string, prefix?: string): Promise<ObjectStoreSettings>;
}

/** A server that speaks Google Cloud Storage's JSON API (fake-gcs-server over a folder). */
export async function startGcs(): Promise<GcsServer> {
  const server = await startObjectServer('gcs', 'fake-gcs-server', ({ host, port, data }) => [
    ...['-scheme', 'http', '-host', host, '-port', String(port), '-backend', 'filesystem', '-filesystem-root', data],
    ...['-external-url', `http://${host}:${port}`, '-public-host', `${host}:${port}`, '-log-level', 'warn'],
  ]);
  return {
    ...server,
    async bucket(bucket, prefix = 'results/') {
      const answer = await fetch(`${server.url}/storage/v1/b?project=test`, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ name: bucket }),
        signal: AbortSignal.timeout(5000),
      });
      if (!answer.ok) throw new Error(`the bucket was not made: ${await answer.text()}`);
      return {
        ...{ bucket, prefix, endpoint: server.url, region: undefined, pathStyle: true },
        ...{ accessKeyId: undefined, secretAccessKey: undefined },
      };
    },
  };
}
