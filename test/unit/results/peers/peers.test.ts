import { describe, expect, it } from 'vitest';
import { type GatewayAddress, PeerDirectory } from '../../../../src/results/peers/peers.ts';
import { newRequestId } from '../../../../src/results/request-id.ts';

const SELF = { id: 'gw-0', host: '10.0.0.1', port: 8080 };
const idOf = (gateway: string): string => newRequestId(gateway, (bytes) => new Uint8Array(bytes));

describe('the directory of gateways', () => {
  function setup(
    ids: Record<string, string | undefined> = { '10.0.0.2': 'gw-1', '10.0.0.3': 'gw-2' },
    refreshMs?: number,
  ) {
    const state = { now: 0, lookups: 0, hosts: ['10.0.0.1', ...Object.keys(ids)], problems: [] as string[] };
    const directory = new PeerDirectory({
      self: SELF,
      addresses: async () => {
        state.lookups++;
        return state.hosts.map((host): GatewayAddress => ({ host, port: 8080 }));
      },
      identify: async ({ host }) => ids[host],
      clock: { monotonic: () => state.now },
      ...(refreshMs !== undefined && { refreshMs }),
      onProblem: (message) => state.problems.push(message),
    });
    return { directory, state };
  }

  it('finds the gateway encoded in an id', async () => {
    const { directory } = setup();
    expect(await directory.route(idOf('gw-0'), {})).toEqual({ kind: 'local' });
    expect(await directory.route(idOf('gw-2'), {})).toMatchObject({
      kind: 'peer',
      peer: { host: '10.0.0.3', port: 8080 },
    });
    expect(await directory.route(idOf('gone'), {})).toEqual({ kind: 'absent' });
    expect(await directory.route('12345', {})).toEqual({ kind: 'local' });
  });

  it('finds the gateway of an id at its present address, whatever address the request names', async () => {
    const { directory } = setup();
    const stale = { host: '10.0.0.99', port: '8080' };
    expect(await directory.route(idOf('gw-0'), stale)).toEqual({ kind: 'local' });
    expect(await directory.route(idOf('gw-2'), stale)).toMatchObject({ kind: 'peer', peer: { host: '10.0.0.3' } });
    expect(await directory.route(idOf('gone'), stale)).toEqual({ kind: 'absent' });
    const known = { host: '10.0.0.2', port: '8080' };
    expect(await directory.route(idOf('gone'), known)).toMatchObject({ kind: 'peer', peer: { host: '10.0.0.2' } });
  });

  it('accepts only a named gateway of this deployment', async () => {
    const { directory } = setup();
    const route = (host?: string, port?: string) =>
      directory.route('12345', { ...(host !== undefined && { host }), ...(port !== undefined && { port }) });
    expect(await route('10.0.0.2', '8080')).toMatchObject({ kind: 'peer', peer: { host: '10.0.0.2' } });
    expect(await route('10.0.0.1', '8080')).toEqual({ kind: 'local' });
    for (const [host, port] of [
      ['169.254.169.254', '80'],
      ['10.0.0.2', '22'],
      ['10.0.0.2', undefined],
      [undefined, '8080'],
      ['10.0.0.2', '8080x'],
    ] as const) {
      expect(await route(host, port)).toMatchObject({
        kind: 'refused',
        message: expect.stringContaining('FORWARD_HOST'),
      });
    }
  });

  it.each([[{}], [{ '10.0.0.2': 'gw-1' }]])(
    'refuses an address that is not a gateway of this deployment also where nothing is forwarded: %j',
    async (ids) => {
      const { directory, state } = setup(ids);
      const foreign = { host: '169.254.169.254', port: '80' };
      expect(await directory.refusal('12345', {})).toBeUndefined();
      // An id in the form of this deployment decides: the address may be that of the gateway before it restarted.
      expect(await directory.refusal(idOf('gw-0'), foreign)).toBeUndefined();
      expect(await directory.refusal(idOf('gone'), foreign)).toBeUndefined();
      expect(state.lookups).toBe(0);
      expect(await directory.refusal('12345', foreign)).toContain('not a gateway of this deployment');
      expect(await directory.refusal('12345', { host: '10.0.0.1', port: '8080' })).toBeUndefined();
      const other = await directory.refusal('12345', { host: '10.0.0.2', port: '8080' });
      expect(other === undefined).toBe('10.0.0.2' in ids);
      for (const forward of [{ host: '10.0.0.1' }, { port: '8080' }]) {
        expect(await directory.refusal(idOf('gw-0'), forward)).toContain('must be sent together');
      }
    },
  );

  it('refreshes for an unknown gateway, but not for every request', async () => {
    const { directory, state } = setup();
    await directory.route(idOf('gw-1'), {});
    state.hosts = ['10.0.0.1'];
    await directory.route(idOf('gone'), {});
    expect(state.lookups).toBe(1);
    state.now = 10_000;
    // Known peers are served from the cache during a refresh.
    expect(await directory.route(idOf('gw-1'), {})).toMatchObject({ kind: 'peer' });
    await directory.refresh();
    expect(await directory.route(idOf('gw-1'), {})).toEqual({ kind: 'absent' });
  });

  it('looks the gateways up again after ten seconds, also where the gateway is known', async () => {
    const { directory, state } = setup();
    await directory.route(idOf('gw-1'), {});
    state.now = 9_999;
    await directory.route(idOf('gw-1'), {});
    expect(state.lookups).toBe(1);
    state.now = 10_000;
    await directory.route(idOf('gw-1'), {});
    expect(state.lookups).toBe(2);
  });

  it.each([
    [undefined, 10_000],
    [500, 500],
  ])('has the present gateways, as of at most the interval (%j: %i ms) before', async (refreshMs, interval) => {
    const { directory, state } = setup({ '10.0.0.2': 'gw-1' }, refreshMs);
    const gateways = [{ host: '10.0.0.2', port: 8080, id: 'gw-1' }];
    expect(directory.peers).toEqual([]);
    expect(await directory.current()).toEqual(gateways);
    state.hosts = [];
    state.now = interval - 1;
    expect(await directory.current()).toEqual(gateways);
    expect([directory.peers, state.lookups]).toEqual([gateways, 1]);
    state.now = interval;
    expect(await directory.current()).toEqual([]);
    state.now = 2 * interval - 1;
    await directory.current();
    await directory.route(idOf('gone'), {});
    expect(state.lookups).toBe(2);
    state.now = 2 * interval;
    await directory.route(idOf('gone'), {});
    expect(state.lookups).toBe(3);
  });

  it('asks concurrent callers to share a look-up', async () => {
    const { directory, state } = setup();
    await Promise.all([directory.refresh(), directory.refresh(), directory.current()]);
    expect(state.lookups).toBe(1);
    await directory.refresh();
    expect(state.lookups).toBe(2);
  });

  it('has at most 64 of them, and says that there are more', async () => {
    const ids = Object.fromEntries(Array.from({ length: 65 }, (_, at) => [`10.0.1.${at}`, `gw-${at + 1}`]));
    const { directory, state } = setup(ids);
    state.hosts.pop();
    expect(await directory.current()).toHaveLength(64);
    expect(state.problems).toEqual([]);
    state.hosts.push('10.0.1.64');
    await directory.refresh();
    expect(directory.peers.map(({ id }) => id)).toEqual(Array.from({ length: 64 }, (_, at) => `gw-${at + 1}`));
    expect(state.problems).toEqual(['found 65 gateways; only the first 64 are used']);
  });

  it('has neither this gateway, whatever its address, nor an id of those that report none', async () => {
    const { directory } = setup({ '10.0.0.2': 'gw-0', '10.0.0.3': undefined, '10.0.0.4': 'gw-3' });
    expect(await directory.current()).toEqual([
      { host: '10.0.0.3', port: 8080, id: undefined },
      { host: '10.0.0.4', port: 8080, id: 'gw-3' },
    ]);
    expect(await directory.route(idOf('gone'), {})).toEqual({ kind: 'absent' });
  });

  it('keeps the known gateways when the look-up fails', async () => {
    const ids = { '10.0.0.2': 'gw-1' };
    const state = { fail: false, now: 0, problems: [] as string[] };
    const directory = new PeerDirectory({
      self: SELF,
      addresses: async () => {
        if (state.fail) throw new Error('SERVFAIL');
        return [{ host: '10.0.0.2', port: 8080 }];
      },
      identify: async ({ host }) => ids[host as '10.0.0.2'],
      clock: { monotonic: () => state.now },
      onProblem: (message) => state.problems.push(message),
    });
    await directory.refresh();
    state.fail = true;
    state.now = 60_000;
    await directory.refresh();
    expect(await directory.route(idOf('gw-1'), {})).toMatchObject({ kind: 'peer' });
    expect(state.problems).toEqual(['failed to look up the other gateways: SERVFAIL']);
  });
});
