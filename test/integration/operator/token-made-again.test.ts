import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { Directory } from '../../../src/access/directory.ts';
import { hashFields, hashSecretKey } from '../../../src/access/service-token.ts';
import type { ServiceToken } from '../../../src/resources/kinds.ts';
import { serviceToken } from '../../builders/resources.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { connect, eventually, type Connection } from '../../support/operator.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

const ACCESS_KEY = 'a'.repeat(16);

describe('a ServiceToken that is deleted and created again with kubectl', () => {
  let api: ControlPlaneClient;
  let namespace: string;
  let connection: Connection;
  let directory: Directory;

  beforeAll(async () => {
    api = await sharedControlPlane();
    await api.applyCrds();
    namespace = await api.createNamespace('token-made-again');
    connection = connect(api.kubeconfigPath, namespace);
    directory = new Directory(connection.store, { environment: 'olap', cluster: 'pinot' });
    await connection.store.synced(AbortSignal.timeout(WAIT_LIMIT_MS));
  });
  afterAll(async () => {
    directory.close();
    await connection.close();
  });

  async function kubectl(...args: string[]): Promise<string> {
    return (await api.mustKubectl(['-n', namespace, ...args])).stdout;
  }

  async function apply(object: object): Promise<void> {
    await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(object) });
  }

  /** Created, and present in the gateway's store. */
  async function makeToken(): Promise<ServiceToken> {
    await apply(serviceToken('job', { secretName: 'job-token' }));
    const made = JSON.parse(await kubectl('get', 'otoken', 'job', '-o', 'json')) as ServiceToken;
    await eventually(
      () => connection.store.get('ServiceToken', 'job')?.metadata.uid,
      (uid) => uid === made.metadata.uid,
    );
    return made;
  }

  it('does not accept the secret of the first', async () => {
    const first = await makeToken();
    const hashes = { accessKey: ACCESS_KEY, secretHash: hashSecretKey('s'.repeat(32)), previousHashes: [] };
    await connection.store.updateStatus('ServiceToken', { ...first, status: hashFields(hashes) });
    expect(directory.tokenByAccessKey(ACCESS_KEY)?.name).toBe('job');

    await kubectl('delete', 'otoken', 'job');
    // What a backup has: the API server drops a status that is sent with a new object.
    const { metadata: _, ...content } = connection.store.get('ServiceToken', 'job') ?? first;
    await apply({ ...content, metadata: { name: 'job' }, status: hashFields(hashes) });
    const second = await makeToken();
    expect(second.metadata.uid).not.toBe(first.metadata.uid);
    expect(directory.tokenByAccessKey(ACCESS_KEY)).toBeUndefined();
    expect(directory.tokenByName('job')).toBeUndefined();
  });
});
