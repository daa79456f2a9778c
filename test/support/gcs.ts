import { type ObjectServer, startObjectServer } from './object-servers.ts';
import type { TestBucket } from './result-stores.ts';
import { WAIT_LIMIT_MS } from './limits.ts';

export interface GcsServer extends ObjectServer {
  /** Creates a bucket. */
  bucket(name: string, prefix?: string): Promise<TestBucket>;
}

/** Starts fake-gcs-server, which implements the JSON API of Google Cloud Storage, with its data in a folder. */
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
        signal: AbortSignal.timeout(WAIT_LIMIT_MS),
      });
      if (!answer.ok) throw new Error(`failed to create the bucket: ${await answer.text()}`);
      return { bucket, prefix, endpoint: server.url };
    },
  };
}
