import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { folderDeployment, inPath, kubernetesDeployment, type Deployment } from './gateways.ts';

const PATH = `/roles/${inPath('role', 'shared')}/assignments`;
const ROUNDS = 10;

describe.each([
  ['in a folder', folderDeployment],
  ['in a Kubernetes API with two gateways', kubernetesDeployment],
] as const)('the assignments of a role %s', (_store, deploy) => {
  let deployment: Deployment;
  beforeAll(async () => {
    deployment = await deploy();
  });
  afterAll(() => deployment.stop());

  it('are changed by one of two editors that have read the same', async () => {
    const [first] = deployment.gateways;
    const second = deployment.gateways.at(-1);
    if (first === undefined || second === undefined) throw new Error('a gateway is missing');
    expect((await first.call('POST', '/roles', { name: 'shared' })).status).toBe(200);
    for (let round = 0; round < ROUNDS; round++) {
      const { body, headers } = await first.call('GET', PATH);
      const ifMatch = { 'if-match': String(headers['etag']) };
      const put = (gateway: typeof first, name: string) =>
        gateway.call('PUT', PATH, [...(body as object[]), { subject: name, subjectType: 'group' }], ifMatch);
      const answers = await Promise.all([put(first, `a${round}`), put(second, `b${round}`)]);
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 412]);
      const stored = await first.store.readAll('RoleAssignment');
      expect(stored.filter(({ spec }) => spec.role === 'shared')).toHaveLength(round + 1);
      const winner = answers.find(({ status }) => status === 200);
      expect(winner?.body).toHaveLength(round + 1);
      // The next round reads at the first gateway, which may be behind.
      while ((await first.call('GET', PATH)).headers['etag'] !== winner?.headers['etag'])
        await new Promise(setImmediate);
    }
  });
});
