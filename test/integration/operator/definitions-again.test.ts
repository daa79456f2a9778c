import { afterAll, beforeAll, it } from 'vitest';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import { administratorsBySetting, BY_SETTING } from '../../../src/app/parts/administrators-by-setting.ts';
import { startControlPlane, type ControlPlane } from '../../support/control-plane.ts';
import { KUBECTL_TIMEOUT } from '../../support/limits.ts';
import { eventually, runOperator, type RunningOperator } from '../../support/operator.ts';
import { silent } from '../../unit/operator/fakes.ts';

const NAMESPACE = 'again';

// Its own control plane, because the definitions are cluster-scoped.
let api: ControlPlane;
let running: RunningOperator | undefined;

beforeAll(async () => {
  api = await startControlPlane({ controllerManager: true });
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  const owned = [administratorsBySetting([{ type: 'user-email', name: 'ada@example.com' }], silent)];
  running = runOperator(api.kubeconfigPath, NAMESPACE, { owned });
});
afterAll(async () => {
  await running?.stop();
  await api?.stop();
});

async function names(kind: string): Promise<string[]> {
  const { stdout } = await api.kubectl(['-n', NAMESPACE, 'get', `${kind}.olapwarden.io`, '-o', 'name']);
  return stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => line.slice(line.indexOf('/') + 1));
}

/** All objects that the operator owns. */
async function complete(): Promise<boolean> {
  const [policies, roles, assignments] = [
    await names('policies'),
    await names('roles'),
    await names('roleassignments'),
  ];
  return (
    policies.length === PREDEFINED_POLICIES.length &&
    roles.length === PREDEFINED_ROLES.length &&
    assignments.includes(BY_SETTING)
  );
}

it('restores what the operator owns after the definitions were deleted and created again', async () => {
  await eventually(complete, Boolean);
  await api.mustKubectl(['delete', 'crd', '--all', KUBECTL_TIMEOUT]);
  await eventually(
    () => running?.store.list('Role').length,
    (count) => count === 0,
  );
  await api.applyCrds();
  await eventually(complete, Boolean);
});

it('restores the assignment of the setting after its deletion', async () => {
  await api.mustKubectl(['-n', NAMESPACE, 'delete', 'roleassignments.olapwarden.io', BY_SETTING]);
  await eventually(complete, Boolean);
});
