import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Answer, Deployment, Gateway } from './gateways.ts';
import { inPath, kubernetesDeployment, soon } from './gateways.ts';

const CLIENTS = 50;
const DOCUMENT = '{"version":"v1","statements":[{"effect":"allow","actions":"Query","resources":"srn2:table#events"}]}';
const role = (name: string): string => `/roles/${inPath('role', name)}`;

/** Fifty concurrent clients, alternating between two gateways of one real kube-apiserver. */
describe('fifty clients on two gateways', () => {
  let deployment: Deployment;

  beforeAll(async () => {
    deployment = await kubernetesDeployment(2);
    const [gateway] = deployment.gateways;
    for (let index = 0; index < CLIENTS; index++) {
      expect(
        (await gateway!.call('POST', '/policies', { name: `p${index}`, policyDocumentJson: DOCUMENT })).status,
      ).toBe(200);
    }
    expect((await gateway!.call('POST', '/roles', { name: 'shared' })).status).toBe(200);
    await everyGatewaySees(() => deployment, 'shared', `p${CLIENTS - 1}`);
  });
  afterAll(() => deployment?.stop());

  const atOnce = (work: (gateway: Gateway, client: number) => Promise<Answer>): Promise<Answer[]> =>
    Promise.all(Array.from({ length: CLIENTS }, (_, client) => work(deployment.gateways[client % 2]!, client)));
  const counts = (answers: readonly Answer[]): Record<number, number> => {
    const result: Record<number, number> = {};
    for (const { status } of answers) result[status] = (result[status] ?? 0) + 1;
    return result;
  };
  const policies = (gateway: Gateway): readonly string[] => gateway.store.get('Role', 'shared')?.spec.policies ?? [];

  it('create one role with one name', async () => {
    const answers = await atOnce((gateway) => gateway.call('POST', '/roles', { name: 'contested' }));
    expect(counts(answers)).toEqual({ 200: 1, 409: CLIENTS - 1 });
  });

  it('lose no policy that they attach to one role, and none that they detach', async () => {
    const attached = await atOnce((gateway, client) =>
      gateway.call('POST', `${role('shared')}/attach-policy`, { policySrn: `srn2:policy#p${client}` }),
    );
    expect(counts(attached)).toEqual({ 200: CLIENTS });
    for (const gateway of deployment.gateways) {
      await soon(() => expect(policies(gateway)).toHaveLength(CLIENTS));
      expect(new Set(policies(gateway)).size).toBe(CLIENTS);
    }
    const detached = await atOnce((gateway, client) =>
      gateway.call('POST', `${role('shared')}/detach-policy`, { policySrn: `srn2:policy#p${client}` }),
    );
    expect(counts(detached)).toEqual({ 200: CLIENTS });
    for (const gateway of deployment.gateways) await soon(() => expect(policies(gateway)).toEqual([]));
  });

  it('assign one subject once, and fifty subjects fifty times', async () => {
    const assignment = (subject: string) => ({ subject, subjectType: 'user-email' });
    const same = await atOnce((gateway) =>
      gateway.call('POST', `${role('shared')}/create-assignment`, assignment('same@example.com')),
    );
    expect(counts(same)).toEqual({ 200: CLIENTS });
    const each = await atOnce((gateway, client) =>
      gateway.call('POST', `${role('shared')}/create-assignment`, assignment(`user-${client}@example.com`)),
    );
    expect(counts(each)).toEqual({ 200: CLIENTS });
    for (const gateway of deployment.gateways) {
      await soon(async () => {
        const { body } = await gateway.call('GET', `${role('shared')}/assignments`);
        expect(body).toHaveLength(CLIENTS + 1);
      });
      expect(gateway.store.list('RoleAssignment').filter(({ spec }) => spec.role === 'shared')).toHaveLength(
        CLIENTS + 1,
      );
    }
    const gone = await atOnce((gateway, client) =>
      gateway.call('POST', `${role('shared')}/delete-assignment`, assignment(`user-${client}@example.com`)),
    );
    expect(counts(gone)).toEqual({ 200: CLIENTS });
    const last = await atOnce((gateway) =>
      gateway.call('POST', `${role('shared')}/delete-assignment`, assignment('same@example.com')),
    );
    expect(counts(last)).toEqual({ 200: CLIENTS });
    for (const gateway of deployment.gateways) {
      await soon(async () => expect((await gateway.call('GET', `${role('shared')}/assignments`)).body).toEqual([]));
    }
  });

  it('each get a correct response when they replace one description', async () => {
    const answers = await atOnce((gateway, client) =>
      gateway.call('PUT', role('shared'), { description: `by ${client}` }),
    );
    const written = answers.filter(({ status }) => status === 200).map(({ body }) => body.description);
    expect(written.length).toBeGreaterThan(0);
    expect(answers.every(({ status }) => status === 200 || status === 409)).toBe(true);
    for (const gateway of deployment.gateways) {
      await soon(async () => {
        expect(written).toContain((await gateway.call('GET', role('shared'))).body.description);
      });
    }
  });

  it('leave no role with a concurrently deleted policy, and no subject of a deleted role', async () => {
    const answers = await atOnce((gateway, client) =>
      client < CLIENTS / 2
        ? gateway.call('POST', `${role('shared')}/attach-policy`, { policySrn: `srn2:policy#p${client % 10}` })
        : gateway.call('DELETE', `/policies/${inPath('policy', `p${client % 10}`)}`),
    );
    expect(answers.every(({ status }) => [200, 400, 404, 409].includes(status))).toBe(true);
    const assigned = await atOnce((gateway, client) =>
      client % 3 === 0
        ? gateway.call('DELETE', role('contested'))
        : gateway.call('POST', `${role('contested')}/create-assignment`, {
            subject: `u${client}`,
            subjectType: 'group',
          }),
    );
    expect(assigned.every(({ status }) => [200, 404, 409].includes(status))).toBe(true);
    for (const gateway of deployment.gateways) {
      await soon(() => {
        for (const name of policies(gateway)) expect(gateway.store.get('Policy', name)).toBeDefined();
        for (const { spec } of gateway.store.list('RoleAssignment'))
          expect(gateway.store.get('Role', spec.role)).toBeDefined();
      });
    }
  });
});

async function everyGatewaySees(deployment: () => Deployment, roleName: string, policyName: string): Promise<void> {
  for (const { store } of deployment().gateways) {
    await soon(() => {
      expect(store.get('Role', roleName)).toBeDefined();
      expect(store.get('Policy', policyName)).toBeDefined();
    });
  }
}
