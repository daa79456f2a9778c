import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { FakeEngine } from '../../support/fake-engine.ts';
import { type RunningProduct, startProduct } from '../../support/product-process.ts';
import type { Program } from '../../support/processes.ts';
import { Random } from '../../fuzz/http/random.ts';
import { until } from '../../support/until.ts';
import { type Fault, FaultyProxy } from './faulty-proxy.ts';
import { type Outcome, send } from './load.ts';
import { History, type Write, type WriteTarget } from './writes.ts';

export const GATEWAYS = 3;
export const TABLES = ['orders', 'events', 'users'];
export const ACTIONS = ['Query', 'GetSchema', 'DeleteTable'];
export const RBAC = '/api/v1/rbac-manager';
const NAMESPACE = 'olap';
const FAULTS: readonly Fault[] = ['none', 'none', 500, 429, 'slow', 'silent', 'reset', 'lost-answer'];

export interface HeldToken {
  readonly bearerToken: string;
  state: 'live' | 'deleted' | 'unknown';
}

interface IssuedToken {
  readonly accessKey: string;
  readonly bearerToken: string;
}

/** An operator and three gateways, each behind a faulty connection to one Kubernetes API, and what clients know of the stored objects. */
export class HistoryWorld implements WriteTarget {
  readonly api: ControlPlane;
  /** The writes of all clients, except those of tokens. */
  history = new History(this);
  /** Service tokens by access key. */
  readonly tokens = new Map<string, HeldToken>();
  readonly #engine: FakeEngine;
  readonly #token: string;
  readonly #programs: Program[] = [];
  readonly #proxies: FaultyProxy[] = [];
  readonly #gateways: RunningProduct[] = [];
  #delegate: IssuedToken | undefined;
  #markers = 0;

  private constructor(api: ControlPlane, engine: FakeEngine, token: string) {
    this.api = api;
    this.#engine = engine;
    this.#token = token;
  }

  static async start(): Promise<HistoryWorld> {
    const engine = new FakeEngine();
    await engine.listen();
    engine.serve(TABLES.map((table) => `${table}_OFFLINE`));
    const api = await startControlPlane();
    await api.applyCrds();
    await api.mustKubectl(['create', 'namespace', NAMESPACE]);
    await api.mustKubectl(['apply', '-k', join(import.meta.dirname, '../../../manifests')]);
    const token = await api.serviceAccountToken(NAMESPACE, 'admin', {
      audience: 'olap-warden',
      durationSeconds: 86_400,
    });
    const world = new HistoryWorld(api, engine, token);
    await world.#open();
    return world;
  }

  async #open(): Promise<void> {
    const admin = `user-email:system:serviceaccount:${NAMESPACE}:admin`;
    await this.#start('operator', this.api.url, { 'admin-subject': admin });
    for (let at = 0; at < GATEWAYS; at++) {
      this.#proxies.push(await FaultyProxy.ofApi(this.api));
      this.#gateways.push(await this.#startGateway(at));
      const isServed = async (): Promise<boolean> => (await this.call(at, 'GET', `${RBAC}/roles`)).status === 200;
      await until('the administrator has its role', isServed);
    }
    const issued = await this.#must('POST', `${RBAC}/service-tokens`, { description: 'delegate' });
    this.#delegate = JSON.parse(issued.text) as IssuedToken;
    const assignment = { subject: this.#delegate.accessKey, subjectType: 'service-token' };
    await this.#must('POST', `${RBAC}/roles/srn2:role%23rbac-admin/create-assignment`, assignment);
  }

  /** An administrator of access that may not grant access to tables. */
  get delegate(): string {
    return this.#delegate?.bearerToken ?? '';
  }

  /** One call of a gateway, as the administrator where no credential is given. */
  call(at: number, method: string, path: string, body?: unknown, credential = this.#token): Promise<Outcome> {
    const type = body === undefined ? {} : { 'content-type': 'application/json' };
    const headers = { authorization: `Bearer ${credential}`, ...type };
    const init = { method, headers, ...(body !== undefined && { body: JSON.stringify(body) }) };
    return send(this.#gateways[at]!.url + path, init);
  }

  async send({ via, method, path, body, isEscalation }: Write): Promise<Outcome> {
    if (via !== 'kubectl') {
      const credential = isEscalation ? this.delegate : this.#token;
      return this.call(Number(via.split(' ')[1]), method, path, body, credential);
    }
    const args = ['-n', NAMESPACE, 'apply', '--server-side', '--force-conflicts', '-f', '-'];
    const startedAt = performance.now();
    const { code, stderr } = await this.api.kubectl(args, { input: JSON.stringify(body) });
    const ms = performance.now() - startedAt;
    return { status: code === 0 ? 200 : 'closed', text: `${code} ${stderr.trim()}`, ms };
  }

  /**
   * Repeats writes one after another, without faults, in place of all objects that clients have written.
   * @returns the new history, when every gateway has all its writes
   */
  async repeat(writes: readonly Write[]): Promise<History> {
    for (const kind of ['roleassignments', 'roles', 'policies']) {
      const named = (await this.read<{ metadata: { name: string; labels?: object } }>(kind)).map(
        ({ metadata }) => metadata.name,
      );
      const written = named.filter((name) => /^(?:[per]-\d|marker)/.test(name));
      const byClients = kind === 'roleassignments' ? await this.#assignmentsOfClients() : written;
      if (byClients.length > 0)
        await this.api.mustKubectl(['-n', NAMESPACE, 'delete', `${kind}.olapwarden.io`, ...byClients]);
    }
    await this.untilInSync();
    this.history = new History(this);
    for (const write of writes) await this.history.perform(write);
    await this.untilInSync();
    return this.history;
  }

  async #assignmentsOfClients(): Promise<string[]> {
    const all = await this.read<{ metadata: { name: string }; spec: { role: string } }>('roleassignments');
    return all.filter(({ spec }) => /^r-\d/.test(spec.role)).map(({ metadata }) => metadata.name);
  }

  /** All objects of a kind in the Kubernetes API. */
  async read<T>(kind: string): Promise<T[]> {
    const { stdout } = await this.api.mustKubectl(['-n', NAMESPACE, 'get', `${kind}.olapwarden.io`, '-o', 'json']);
    return (JSON.parse(stdout) as { items: T[] }).items;
  }

  /** Until the writers have ended: faults of one gateway's connection to the Kubernetes API, and killed gateways. None afterwards. */
  async injectFaults(seed: number, isOver: () => boolean): Promise<void> {
    const random = new Random(seed);
    while (!isOver()) {
      const at = random.below(GATEWAYS);
      if (random.chance(0.1)) {
        this.#gateways[at]!.program.signalGroup('SIGKILL');
        this.#proxies[at]!.set('none');
        this.#gateways[at] = await this.#startGateway(at);
      } else this.#proxies[at]!.set(random.pick(FAULTS));
      await delay(300);
    }
    for (const proxy of this.#proxies) proxy.set('none');
  }

  /** Resolves when every gateway has seen a write of each kind that was made after all others: each kind has a watch of its own. */
  async untilInSync(): Promise<void> {
    const name = `marker-${this.#markers++}`;
    const role = `${RBAC}/roles/srn2:role%23${name}`;
    const policy = `${RBAC}/policies/srn2:policy%23${name}`;
    const statements = [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#marker'] }];
    const member = { subject: `${name}@example.com`, subjectType: 'user-email' };
    const writes: readonly (readonly [path: string, body: object])[] = [
      [`${RBAC}/policies`, { name, policyDocument: { version: 'v1', statements } }],
      [`${RBAC}/roles`, { name }],
      [`${role}/create-assignment`, member],
      [`${RBAC}/service-tokens`, { description: name }],
    ];
    for (const [path, body] of writes) {
      const write = async (): Promise<boolean> => {
        const { status } = await this.call(0, 'POST', path, body);
        // A write whose response was lost exists.
        return status === 200 || status === 409;
      };
      await until('a gateway writes again', write);
    }
    const places = [
      [policy, name],
      [role, name],
      [`${role}/assignments`, member.subject],
      [`${RBAC}/service-tokens`, name],
    ] as const;
    for (let at = 0; at < GATEWAYS; at++) {
      for (const [path, content] of places) {
        const isSeen = async (): Promise<boolean> => {
          const { status, text } = await this.call(at, 'GET', path);
          return status === 200 && text.includes(`${content}"`);
        };
        await until('every gateway has all writes', isSeen);
      }
    }
  }

  async stop(): Promise<void> {
    for (const program of this.#programs) program.signalGroup('SIGKILL');
    for (const proxy of this.#proxies) await proxy.close();
    await this.#engine.close();
    await this.api.stop();
  }

  async #must(method: string, path: string, body: unknown): Promise<Outcome> {
    const outcome = await this.call(0, method, path, body);
    if (outcome.status !== 200) throw new Error(`${method} ${path}: ${outcome.status} ${outcome.text}`);
    return outcome;
  }

  #startGateway(at: number): Promise<RunningProduct> {
    const settings = { 'max-requests-per-second': '0', 'max-failed-attempts': '1000000' };
    return this.#start('gateway', this.#proxies[at]!.url, settings);
  }

  #start(
    command: 'operator' | 'gateway',
    server: string,
    settings: Readonly<Record<string, string>>,
  ): Promise<RunningProduct> {
    return startProduct(this.api, command, {
      namespace: NAMESPACE,
      settings: { controllers: this.#engine.url, ...settings },
      onStart: (program) => this.#programs.push(program),
      server,
    });
  }
}
