import { describe, expect, it } from 'vitest';
import { chooseCluster } from '../../support/kind/choice.ts';

const NO_ROOT = 'a node in namespaces of its own needs root';

describe('the selected cluster', () => {
  it.each([
    ['kind where Docker works', true, undefined, { cluster: 'kind', otherwiseNode: true }],
    ['kind alone where a node cannot be held', true, NO_ROOT, { cluster: 'kind', otherwiseNode: false }],
    ['the node without Docker', false, undefined, { cluster: 'node' }],
  ])('is %s', (_, docker, nodeObstacle, choice) => {
    expect(chooseCluster(undefined, { docker, nodeObstacle })).toEqual(choice);
    expect(chooseCluster('', { docker, nodeObstacle })).toEqual(choice);
  });

  it('is none if neither is possible, with both reasons', () => {
    const choice = chooseCluster(undefined, { docker: false, nodeObstacle: NO_ROOT });
    expect(choice).toEqual({ cluster: 'none', obstacle: `kind needs a Docker that works here; ${NO_ROOT}` });
  });

  it('is the requested one, without a fallback', () => {
    const both = { docker: true, nodeObstacle: undefined };
    expect(chooseCluster('kind', both)).toEqual({ cluster: 'kind', otherwiseNode: false });
    expect(chooseCluster('node', both)).toEqual({ cluster: 'node' });
    expect(() => chooseCluster('kind', { ...both, docker: false })).toThrow('`docker info` fails');
    expect(() => chooseCluster('node', { ...both, nodeObstacle: NO_ROOT })).toThrow(NO_ROOT);
    expect(() => chooseCluster('minikube', both)).toThrow('E2E_CLUSTER is `minikube`; it must be `node`, `kind`');
  });
});
