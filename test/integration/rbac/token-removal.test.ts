import { afterAll, beforeAll, it } from 'vitest';
import { checkTokenRemoval } from '../../support/token-removal.ts';
import { kubernetesDeployment, type Deployment } from './gateways.ts';

let deployment: Deployment;
beforeAll(async () => {
  deployment = await kubernetesDeployment(1);
});
afterAll(() => deployment.stop());

it('the interrupted deletion of a service token gives it no access, on a real kube-apiserver', async () => {
  await checkTokenRemoval(deployment.gateways[0]!.store);
});
