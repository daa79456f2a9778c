import { Readable } from 'node:stream';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { BrokerRouting } from '../../../src/pinot/broker-routing.ts';
import { tableNameOf } from '../../../src/pinot/table-name.ts';
import { EngineError, type EngineEndpoint, type EngineRequest, type EngineResponse } from '../../../src/pinot/types.ts';

const names = (...texts: readonly string[]) => texts.map(tableNameOf);

/** A controller of several databases. */
class Controller implements EngineEndpoint {
  readonly url = 'http://controller';
  readonly seen: string[] = [];
  /** Physical tables by database, each served by the broker `b-<database>`. */
  tables: Record<string, readonly string[]> = { default: ['t'] };
  logical: readonly string[] = [];
  /** The whole list of brokers of the default database. */
  served: Record<string, unknown> | undefined;
  /** Whether the property store can be read. */
  store = true;
  /** Databases whose requests fail, and those whose requests never end. */
  readonly failing = new Set<string>();
  readonly hanging = new Set<string>();
  down = false;
  running = 0;
  most = 0;

  async request({ path, headers, signal }: EngineRequest): Promise<EngineResponse> {
    const database = String(headers?.['database'] ?? 'default');
    this.seen.push(`${path}${path.startsWith('/tables') || path.startsWith('/logical') ? ` ${database}` : ''}`);
    this.most = Math.max(this.most, ++this.running);
    try {
      if (this.hanging.has(database)) {
        await new Promise((_, reject) => {
          signal?.addEventListener('abort', () => reject(new EngineError('aborted', 'aborted')), { once: true });
        });
      }
      await new Promise(setImmediate);
      if (this.down) throw new EngineError('unreachable', 'the controller is away');
      if (this.failing.has(database)) return answer(500, { error: 'broken' });
      return this.#answer(path, database);
    } finally {
      this.running--;
    }
  }

  #answer(path: string, database: string): EngineResponse {
    const prefix = database === 'default' ? '' : `${database}.`;
    switch (path) {
      case '/databases':
        return answer(200, Object.keys(this.tables));
      case '/cluster/info':
        return answer(200, { clusterName: 'c' });
      case '/zk/ls?path=%2Fc%2FPROPERTYSTORE%2FLOGICAL%2FTABLE':
        return this.store ? answer(200, this.logical) : answer(403, {});
      case '/logicalTables':
        return answer(
          200,
          this.logical.filter((name) => (prefix === '' ? !name.includes('.') : name.startsWith(prefix))),
        );
      case '/tables/livebrokers': {
        if (this.served !== undefined) return answer(200, this.served);
        const broker = [{ host: `b-${database}`, port: 1 }];
        const tables = (this.tables[database] ?? []).map((table) => [`${prefix}${table}_OFFLINE`, broker]);
        return answer(200, Object.fromEntries(tables));
      }
      default:
        return answer(404, {});
    }
  }

  /** Requests since the last call. */
  take(): string[] {
    return this.seen.splice(0);
  }
}

function answer(status: number, value: unknown): EngineResponse {
  return { status, headers: {}, body: Readable.from([Buffer.from(JSON.stringify(value))]) };
}

let controller: Controller;
let now: number;
let problems: string[];
let routing: BrokerRouting;

beforeEach(() => {
  controller = new Controller();
  now = 1_000_000;
  problems = [];
  routing = new BrokerRouting({
    controller,
    scheme: 'http',
    addresses: {},
    now: () => now,
    refreshMs: 30_000,
    onProblem: (message) => problems.push(message),
  });
});

afterEach(() => routing.close());

describe('brokers of several tenants', () => {
  const broker = (name: string) => [{ host: name, port: 1 }];

  it('get the queries of their own tables, physical and logical', async () => {
    controller.logical = ['view'];
    controller.served = {
      t_OFFLINE: broker('one'),
      u_OFFLINE: [...broker('one'), ...broker('two')],
      w_REALTIME: broker('two'),
      view: broker('two'),
    };
    expect(await routing.candidates(names('T'))).toEqual(['http://one:1']);
    expect(await routing.candidates(names('view'))).toEqual(['http://two:1']);
    expect(await routing.candidates(names('u', 'w'))).toEqual(['http://two:1']);
    await expect(routing.candidates(names('t', 'view'))).rejects.toMatchObject({
      code: 'no-broker',
      message: 'no broker serves all of `t`, `view`',
    });
  });

  it('are those that can be used, where an entry of the list is not an address', async () => {
    controller.served = { t_OFFLINE: [{ host: 1 }, null, { host: 'x', port: 'y' }, ...broker('one')], broken: {} };
    expect(await routing.candidates(names('t'))).toEqual(['http://one:1']);
  });
});

describe('logical tables', () => {
  it('of a database that has no other tables are known', async () => {
    controller.logical = ['Only.View', 'all'];
    expect(await routing.actualTables(names('only.VIEW', 'ALL'))).toEqual(['Only.View', 'all']);
    expect(controller.seen).toContain('/tables/livebrokers Only');
    expect(controller.seen.filter((line) => line.startsWith('/logicalTables'))).toEqual([]);
  });

  it('are listed for each database where the property store cannot be read', async () => {
    controller.store = false;
    controller.tables = { default: ['t'], sales: ['t'] };
    controller.logical = ['all', 'sales.View'];
    expect(await routing.actualTables(names('ALL', 'SALES.view'))).toEqual(['all', 'sales.View']);
  });
});

describe('a database that cannot be read', () => {
  beforeEach(() => {
    controller.tables = { default: ['t'], sales: ['Deals'], other: ['x'] };
  });

  it('keeps its last listing, and the others are updated', async () => {
    await routing.actualTables(names('t'));
    controller.failing.add('sales');
    controller.tables = { default: ['t'], sales: ['Deals'], other: ['x', 'New'] };
    now += 2_000;
    expect(await routing.actualTables(names('sales.DEALS', 'other.NEW'))).toEqual(['sales.Deals', 'other.New']);
    expect(await routing.candidates(names('sales.deals'))).toEqual(['http://b-sales:1']);
    expect(problems).toEqual([expect.stringMatching(/^the tables of the databases `sales` cannot be listed, .*500/)]);
    controller.tables = { default: ['t'], other: ['x'] };
    controller.failing.clear();
    now += 30_000;
    await routing.actualTables(names('t'));
    await expect.poll(() => routing.tableNames()).not.toContain('sales.Deals');
  });

  it('refuses its names until it was read, because their spelling is unknown, and no others', async () => {
    controller.failing.add('sales');
    expect(await routing.actualTables(names('T', 'other.X'))).toEqual(['t', 'other.x']);
    await expect(routing.actualTables(names('SALES.deals'))).rejects.toMatchObject({
      code: 'bad-response',
      message: expect.stringMatching(/^the tables of the database `SALES` cannot be listed, so `SALES.deals` cannot/),
    });
    await expect(routing.currentTables(0)).rejects.toMatchObject({ code: 'bad-response' });
    controller.failing.clear();
    now += 2_000;
    expect(await routing.actualTables(names('sales.deals'))).toEqual(['sales.Deals']);
    expect(await routing.currentTables(0)).toContain('sales.Deals');
    controller.take();
    expect(await routing.currentTables(1)).toContain('sales.Deals');
    expect(controller.take()).toEqual([]);
    now += 1;
    await routing.currentTables(1);
    expect(controller.take()).toContain('/databases');
  });

  it('does not delay the tables that are known', async () => {
    await routing.actualTables(names('t'));
    controller.hanging.add('sales');
    now += 30_000;
    for (const name of ['t', 'sales.Deals', 'other.x']) {
      expect(await routing.actualTables(names(name))).toEqual([name]);
      expect(await routing.candidates(names(name))).toHaveLength(1);
    }
    expect(controller.running).toBeGreaterThan(0);
  });
});

it('many databases are read a few at a time', async () => {
  const many = Array.from({ length: 200 }, (_, index) => `d${index}`);
  controller.tables = Object.fromEntries(many.map((database) => [database, ['T']]));
  controller.store = false;
  expect(await routing.actualTables(names('D199.t'))).toEqual(['d199.T']);
  expect(controller.most).toBeLessThanOrEqual(8);
  // The lists of the cluster, and two for each database and the default one.
  expect(controller.take()).toHaveLength(3 + 2 * 201);
});

it('more databases than can be read are refused, and no others', async () => {
  const many = Array.from({ length: 10_002 }, (_, index) => [`d${index}`, []] as const);
  controller.tables = { default: ['t'], ...Object.fromEntries(many) };
  expect(await routing.actualTables(names('T', 'd9998.x'))).toEqual(['t', 'd9998.x']);
  await expect(routing.actualTables(names('d9999.x'))).rejects.toMatchObject({ code: 'overloaded' });
  expect(problems.at(-1)).toMatch(/^the tables of the databases `d9999`, `d10000`, `d10001` cannot be listed/);
});

describe('names that do not exist', () => {
  /** Whether asking for the name makes the lists be read again. */
  const forces = async (name: string, caller: string): Promise<boolean> => {
    controller.take();
    expect(await routing.actualTables(names(name), caller)).toEqual([name]);
    return controller.take().length > 0;
  };

  beforeEach(() => routing.actualTables(names('t')));

  it('make one caller force ever fewer reads', async () => {
    let reads = 0;
    for (let second = 0; second < 600; second++) {
      now += 1_000;
      if (await forces(`none${second}`, 'a')) reads++;
    }
    // After 2, 4, 8, 16, then every 30 seconds, beside the regular reads.
    expect(reads).toBeLessThanOrEqual(4 + (2 * 600) / 30);
  });

  it('of one caller do not delay the new tables of another', async () => {
    for (let second = 0; second < 20; second++) {
      now += 1_000;
      await forces(`none${second}`, 'a');
    }
    now += 2_000;
    expect(await forces('x', 'a')).toBe(false);
    controller.tables = { default: ['t', 'Fresh'] };
    expect(await routing.actualTables(names('fresh'), 'b')).toEqual(['Fresh']);
    // Found names count as no miss.
    now += 2_000;
    expect(await forces('y', 'b')).toBe(true);
  });

  it('force at most one read in two seconds, for any caller', async () => {
    now += 2_000;
    expect(await forces('none', 'a')).toBe(true);
    for (const caller of ['b', 'c', 'd']) expect(await forces('none', caller)).toBe(false);
    now += 1_999;
    expect(await forces('none', 'e')).toBe(false);
  });

  it('share one read at a time', async () => {
    now += 2_000;
    controller.take();
    await Promise.all(
      Array.from({ length: 50 }, async (_, index) => routing.actualTables(names(`n${index}`), `caller${index}`)),
    );
    expect(controller.take().filter((line) => line === '/databases')).toHaveLength(1);
  });

  it('are requested from the broker without another read', async () => {
    now += 2_000;
    expect(await forces('none', 'a')).toBe(true);
    controller.take();
    expect(await routing.candidates(names('none'))).toEqual(['http://b-default:1']);
    expect(controller.take()).toEqual([]);
  });
});

it('an unavailable controller does not get a call for each request', async () => {
  controller.down = true;
  const asked = Array.from({ length: 20 }, async () => routing.actualTables(names('t')));
  for (const one of await Promise.allSettled(asked)) expect(one.status).toBe('rejected');
  const first = controller.take().length;
  expect(first).toBeLessThanOrEqual(6);
  await expect(routing.actualTables(names('t'))).rejects.toMatchObject({ message: 'the controller is away' });
  await expect(routing.candidates([])).rejects.toMatchObject({ code: 'unreachable' });
  expect(controller.take()).toEqual([]);
  controller.down = false;
  now += 250;
  expect(await routing.actualTables(names('T'))).toEqual(['t']);
});
