import { expect } from 'vitest';
import type { NaiveStatement } from '../../unit/access/naive.ts';
import { Random } from '../../fuzz/http/random.ts';
import { ACTIONS, GATEWAYS, type HistoryWorld, RBAC, TABLES } from './history-world.ts';
import type { Outcome } from './load.ts';
import { outcomeOf, type Write } from './writes.ts';

/** Statements as one text, in which the values of objects are compared. */
function statements(random: Random): NaiveStatement[] {
  return Array.from({ length: 1 + random.below(3) }, () => ({
    effect: random.chance(0.2) ? 'deny' : 'allow',
    actions: [random.pick([...ACTIONS, '*', 'Get*'])],
    resources: [`srn2:table#${random.pick([...TABLES, 'o*', '*'])}`],
  }));
}

/** The writes of one client, each on objects of its own, so that their order is known. */
export class RandomWriter {
  /** Grants beyond its own that were refused. */
  escalations = 0;
  readonly #world: HistoryWorld;
  readonly #id: number;
  readonly #random: Random;
  #steps = 0;

  constructor(world: HistoryWorld, id: number, seed: number) {
    this.#world = world;
    this.#id = id;
    this.#random = new Random(seed + id * 7919);
  }

  async run(writes: number): Promise<void> {
    for (; this.#steps < writes; this.#steps++) await this.#step();
  }

  #gateway(): number {
    return this.#random.below(GATEWAYS);
  }

  #step(): Promise<void> {
    const chance = this.#random.next();
    if (chance < 0.4) return this.#policy();
    if (chance < 0.75) return this.#role();
    if (chance < 0.9) return this.#token();
    if (chance < 0.95) return this.#byKubectl();
    return this.#escalation();
  }

  /** One policy of the client: created, replaced or deleted. */
  async #policy(): Promise<void> {
    const name = `p-${this.#id}-${this.#random.pick([0, 1])}`;
    const key = `Policy ${name}`;
    const policyDocument = { version: 'v1', statements: statements(this.#random) };
    const path = `${RBAC}/policies/srn2:policy%23${name}`;
    const value = JSON.stringify(policyDocument.statements);
    if (this.#world.history.expectationOf(key).exists === false)
      await this.#write('POST', `${RBAC}/policies`, { name, policyDocument }, { key, value });
    else if (this.#random.chance(0.2)) await this.#write('DELETE', path, undefined, { key, value: undefined });
    else await this.#write('PUT', path, { policyDocument }, { key, value });
  }

  /** One role of the client: created with its description, changed, or deleted; its policies are attached and detached. */
  async #role(): Promise<void> {
    const name = `r-${this.#id}`;
    const key = `Role ${name}`;
    const path = `${RBAC}/roles/srn2:role%23${name}`;
    const value = `description ${this.#random.below(1e6)}`;
    if (this.#world.history.expectationOf(key).exists === false)
      await this.#write('POST', `${RBAC}/roles`, { name, description: value }, { key, value });
    else if (this.#random.chance(0.1)) await this.#write('DELETE', path, undefined, { key, value: undefined });
    else if (this.#random.chance(0.5)) await this.#write('PUT', path, { description: value }, { key, value });
    else {
      // Its effect is compared by the decisions.
      const policySrn = `srn2:policy#p-${this.#id}-${this.#random.pick([0, 1])}`;
      const attach = this.#random.pick(['attach-policy', 'attach-policy', 'detach-policy']);
      await this.#write('POST', `${path}/${attach}`, { policySrn });
      const subject = { subject: `user-${this.#id}@example.com`, subjectType: 'user-email' };
      const assign = this.#random.pick(['create-assignment', 'create-assignment', 'delete-assignment']);
      await this.#write('POST', `${path}/${assign}`, subject);
    }
  }

  /** A token is created with a role, or revoked. */
  async #token(): Promise<void> {
    const own = [...this.#world.tokens].filter(([, { state }]) => state === 'live');
    const at = this.#gateway();
    if (own.length > 4 || (own.length > 0 && this.#random.chance(0.5))) {
      const [accessKey, held] = this.#random.pick(own);
      held.state = 'unknown';
      const outcome = outcomeOf(
        await this.#world.call(at, 'DELETE', `${RBAC}/service-tokens/srn2:service-token%23${accessKey}`),
      );
      if (outcome === 'done') held.state = 'deleted';
      return;
    }
    const created = await this.#world.call(at, 'POST', `${RBAC}/service-tokens`, { description: `client ${this.#id}` });
    if (created.status !== 200) return;
    const { accessKey, bearerToken } = JSON.parse(created.text) as { accessKey: string; bearerToken: string };
    const subject = { subject: accessKey, subjectType: 'service-token' };
    const assigned = await this.#world.call(
      at,
      'POST',
      `${RBAC}/roles/srn2:role%23health-reader/create-assignment`,
      subject,
    );
    this.#world.tokens.set(accessKey, { bearerToken, state: outcomeOf(assigned) === 'done' ? 'live' : 'unknown' });
  }

  async #byKubectl(): Promise<void> {
    const name = `p-${this.#id}-0`;
    const written = statements(this.#random);
    const body = {
      apiVersion: 'olapwarden.io/v1beta1',
      kind: 'Policy',
      metadata: { name },
      spec: { statements: written },
    };
    const key = `Policy ${name}`;
    const object = { key, value: JSON.stringify(written) };
    await this.#world.history.perform({ via: 'kubectl', client: this.#id, method: 'apply', path: key, body, object });
  }

  /** A grant that its caller does not hold. */
  async #escalation(): Promise<void> {
    const name = `e-${this.#id}-${this.#steps}`;
    const policyDocument = {
      version: 'v1',
      statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }],
    };
    const outcome = await this.#world.history.perform({
      via: `gateway ${this.#gateway()}`,
      client: this.#id,
      method: 'POST',
      path: `${RBAC}/policies`,
      body: { name, policyDocument },
      object: { key: `Policy ${name}`, value: JSON.stringify(policyDocument.statements) },
      isEscalation: true,
    });
    if (outcome.status === 403) this.escalations++;
    expect([403, 503, 504, 'closed'], outcome.text).toContain(outcome.status);
  }

  #write(method: string, path: string, body?: unknown, object?: Write['object']): Promise<Outcome> {
    return this.#world.history.perform({
      via: `gateway ${this.#gateway()}`,
      client: this.#id,
      method,
      path,
      ...(body !== undefined && { body }),
      ...(object !== undefined && { object }),
    });
  }
}
