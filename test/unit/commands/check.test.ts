// @module-tag slow
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { createServer as createTcpServer, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import type { CheckContext } from '../../../src/app/check.ts';
import { runCheck } from '../../../src/commands/check.ts';
import { CATALOGUE } from '../../../src/health/catalogue.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { ReplayEngine } from '../../support/replay-engine.ts';

let engine: ReplayEngine;
let server: Server;
let url: string;
let stdout: string;
let stderr: string;

/** The recorded controller behind a socket, because the command opens its own client. */
beforeEach(async () => {
  engine = new ReplayEngine('1.5.1');
  server = createServer((request, response) => {
    void (async () => {
      const body = await text(request);
      const answer = await engine.controller.request({
        method: request.method ?? 'GET',
        path: request.url ?? '',
        body,
      });
      response.writeHead(
        answer.status,
        answer.headers['pinot-controller-version'] === undefined
          ? {}
          : { 'pinot-controller-version': String(answer.headers['pinot-controller-version']) },
      );
      response.end(await text(answer.body));
    })();
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  stdout = '';
  stderr = '';
});

afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const run = (args: readonly string[], more: Partial<CheckContext> = {}): Promise<number> =>
  runCheck({
    args,
    stdout: (part) => void (stdout += part),
    stderr: (part) => void (stderr += part),
    stdoutIsTty: false,
    stderrIsTty: false,
    width: 80,
    env: {},
    clock: { ...systemClock, now: () => Date.parse('2026-11-21T10:00:00Z'), random: () => 0.5 },
    signal: new AbortController().signal,
    ...more,
  });

const passing = ['--only', 'SEGMENT_COUNT_CHECK,TABLE_COLUMN_COUNT_CHECK'];
const failing = ['--only', 'REPLICATION_CHECK'];

/** The two formats come from two runs. */
const withoutDurations = (checks: { durationMs: number }[]) => checks.map((check) => ({ ...check, durationMs: 0 }));

describe('olap-warden check', () => {
  it('exits with 0 and prints a table if all checks pass', async () => {
    expect(await run(['--controller', url, ...passing])).toBe(0);
    expect(stdout).toContain('PASS  SEGMENT_COUNT_CHECK');
    expect(stdout).toContain('2 passed, 0 failed on `hc` (Apache Pinot 1.5.1)');
    expect(stderr).toBe('');
  });

  it('exits with 1 only for the severities of --fail-on', async () => {
    // REPLICATION_CHECK is a warning.
    for (const [severity, code] of Object.entries({ critical: 0, warning: 1, advice: 1 })) {
      expect(await run(['--controller', url, ...failing, '--fail-on', severity]), severity).toBe(code);
    }
    expect(stdout).toContain('0 passed, 1 failed (1 warning) on');
    expect(await run(['--controller', url, '--fail-on', 'bad'])).toBe(2);
    expect(stderr).toContain('invalid `--fail-on bad`: it must be one of critical, warning, advice');
  });

  it('applies `--threshold`', async () => {
    expect(await run(['--controller', url, ...failing, '--threshold', 'REPLICATION_CHECK.minReplication=2'])).toBe(0);
  });

  it('applies `--prebuilt-snapshot-property`', async () => {
    engine.json('/cluster/configs', { 'our.snapshots': 'true' });
    const only = ['--controller', url, '--only', 'PREBUILT_SNAPSHOT_CHECK'];
    expect(await run(only)).toBe(1);
    expect(await run([...only, '--prebuilt-snapshot-property', 'our.snapshots'])).toBe(0);
  });

  it.each([
    ['that of the controller', [], 'P'],
    ['that of `--broker-scheme`', ['--broker-scheme', 'https'], '\u0016'],
  ])('queries brokers with the scheme %s', async (_, options, firstByte) => {
    const received: string[] = [];
    // `POST`, or the first byte of a TLS handshake.
    const broker = createTcpServer((socket) => {
      socket.once('data', (data) => {
        received.push(data.toString('latin1', 0, 1));
        socket.destroy();
      });
      socket.on('error', () => undefined);
    });
    await new Promise<void>((resolve) => {
      broker.listen(0, '127.0.0.1', resolve);
    });
    try {
      const { port } = broker.address() as AddressInfo;
      const listed = [{ host: '127.0.0.1', port, instanceName: `Broker_127.0.0.1_${port}` }];
      const names = ['dd_REALTIME', 'ev_REALTIME', 'orders_OFFLINE', 'up_REALTIME'];
      engine.json('/tables/livebrokers', Object.fromEntries(names.map((name) => [name, listed])));
      engine.json('/databases', ['default']).json('/logicalTables', []);
      expect(await run(['--controller', url, '--only', 'QUERY_HEALTH_CHECK', ...options])).toBe(1);
      expect(new Set(received)).toEqual(new Set([firstByte]));
    } finally {
      broker.close();
    }
  });

  it('skips the checks of `--exclude`', async () => {
    const both = ['--only', 'REPLICATION_CHECK,SEGMENT_COUNT_CHECK'];
    expect(await run(['--controller', url, ...both, '--exclude', 'replication_check'])).toBe(0);
    expect(stdout).not.toContain('REPLICATION_CHECK');
    expect(await run(['--controller', url, ...failing, '--exclude', 'REPLICATION_CHECK'])).toBe(2);
    expect(stderr).toContain('no check is left');
  });

  it('lists the checks', async () => {
    expect(await run(['--list'])).toBe(0);
    expect(stdout.split('\n')).toHaveLength(CATALOGUE.length + 1);
    expect(stdout).toMatch(/^REPLICATION_CHECK +warning +tables +minReplication=3$/mu);
  });

  it('prints all findings with `--wide`, also on a narrow terminal', async () => {
    await run(['--controller', url, ...failing], { stdoutIsTty: true, width: 60, env: { NO_COLOR: '1' } });
    expect(
      Math.max(
        ...stdout
          .split('\n')
          .slice(0, -3)
          .map((line) => line.length),
      ),
    ).toBeLessThanOrEqual(60);
    expect(stdout).toContain('Remedy: ');
    stdout = '';
    const low = ['--threshold', 'REPLICATION_CHECK.minReplication=9'];
    await run(['--controller', url, ...failing, ...low, '-o', 'json']);
    const json = stdout;
    stdout = '';
    await run(['--controller', url, ...failing, ...low, '--wide'], {
      stdoutIsTty: true,
      width: 60,
      env: { NO_COLOR: '1' },
    });
    const all = JSON.parse(json) as { checks: { findings: { entity: string }[] }[] };
    for (const { entity } of all.checks[0]!.findings) expect(stdout).toContain(`      ${entity}: the replication is`);
    expect(stdout).not.toContain('…');
  });

  describe('with `--config`', () => {
    let folder: string;
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'olap-warden-check-'));
    });
    afterEach(() => rm(folder, { recursive: true }));

    const config = async (content: string): Promise<string[]> => {
      const path = join(folder, 'check.yaml');
      await writeFile(path, content);
      return ['--controller', url, '--config', path];
    };
    const mute = (entity: string, until = '2026-12-01T00:00:00Z') =>
      `mutes: [{id: m, check: REPLICATION_CHECK, entity: "${entity}", reason: planned, until: "${until}"}]\n`;

    it('applies thresholds and disabled checks; options override them', async () => {
      const file = await config('thresholds: {REPLICATION_CHECK: {minReplication: 2}}\n');
      expect(await run([...file, ...failing])).toBe(0);
      expect(await run([...file, ...failing, '--threshold', 'REPLICATION_CHECK.minReplication=3'])).toBe(1);
      stdout = '';
      await run([...(await config('disabledChecks: [REPLICATION_CHECK]\n')), '-o', 'json']);
      expect(stdout).not.toContain('"REPLICATION_CHECK"');
    });

    it('applies mutes, which do not count for the exit code and stay visible', async () => {
      expect(await run([...(await config(mute('*'))), ...failing])).toBe(0);
      expect(stdout).toContain('0 passed, 1 failed (1 muted)');
      expect(stdout).toContain('[muted by m] orders_OFFLINE: the replication is 2');
      expect(await run([...(await config(mute('orders_*'))), ...failing])).toBe(1);
      expect(await run([...(await config(mute('*', '2026-11-21T09:00:00Z'))), ...failing])).toBe(1);
      stdout = '';
      await run([...(await config(mute('*'))), ...failing, '-o', 'json']);
      expect(JSON.parse(stdout)).toMatchObject({ summary: { fail: 1, failMuted: 1 }, checks: [{ muted: true }] });
    });

    it('takes a whole resource', async () => {
      const head = 'apiVersion: olapwarden.io/v1beta1\nkind: ClusterHealthReport\nmetadata: {name: cluster}\n';
      const file = await config(`${head}spec: {thresholds: {REPLICATION_CHECK: {minReplication: 2}}}\n`);
      expect(await run([...file, ...failing])).toBe(0);
    });

    it.each([
      ['treshholds: {}', 'did you mean `thresholds`?'],
      ['thresholds: {REPLICATON_CHECK: {minReplication: 2}}', 'did you mean `REPLICATION_CHECK`?'],
      ['thresholds: {REPLICATION_CHECK: {minReplicaton: 2}}', 'did you mean `minReplication`?'],
      ['thresholds: {REPLICATION_CHECK: {minReplication: two}}', 'minReplication'],
      ['disabledChecks: [NOT_A_CHECK]', 'unknown check `NOT_A_CHECK`'],
      ['mutes: [{id: m, entity: a, reason: x}]', 'until: is required'],
      ['mutes: [{id: m, check: NONE_X, entity: a, reason: x, until: "2026-12-01T00:00:00Z"}]', 'matches no check'],
      ['mutes: [{id: m, entity: a, reason: x, until: "2027-12-01T00:00:00Z"}]', 'more than 90 days ahead'],
      ['a: [', '--config'],
      ['- a', 'it must have the fields of a spec'],
      ['kind: Role', 'kind'],
      [' '.repeat(1024 * 1024 + 1), 'at most 1048576 are read'],
    ])('refuses %.60j', async (content, words) => {
      expect(await run([...(await config(content)), ...failing])).toBe(2);
      expect(stderr).toContain(words);
    });

    it('refuses a file that does not exist', async () => {
      expect(await run(['--controller', url, '--config', join(folder, 'none')])).toBe(2);
      expect(stderr).toContain('no such file');
    });
  });

  it('exits with 2 if the cluster is not reachable', async () => {
    server.close();
    server.closeAllConnections();
    expect(await run(['--controller', url, '--timeout', '5s'])).toBe(2);
    expect(stderr).toContain('the cluster is not reachable');
    expect(stderr.split(url)).toHaveLength(2);
    expect(stdout).toBe('');
  });

  it('prints no password of a URL', async () => {
    server.close();
    server.closeAllConnections();
    const withPassword = url.replace('://', '://user:s3cret@');
    expect(await run(['--controller', withPassword, '--controller', withPassword, '--timeout', '5s'])).toBe(2);
    expect(stderr).toContain(new URL(url).host);
    expect(stderr).not.toContain('s3cret');
  });

  it('refuses a CA file without a certificate, which TLS would ignore', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'check-ca-'));
    try {
      const file = join(folder, 'key.pem');
      await writeFile(file, '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n');
      expect(await run(['--controller', url, '--ca-file', file])).toBe(2);
      expect(stderr).toContain(`\`--ca-file\`: \`${file}\` has no PEM certificate`);
    } finally {
      await rm(folder, { recursive: true });
    }
  });

  it('exits with 2 if the user interrupts it', async () => {
    expect(await run(['--controller', url], { signal: AbortSignal.abort() })).toBe(2);
    expect(stderr).toContain('interrupted');
  });

  it.each([
    [[], 'missing `--controller`'],
    [['--controller', 'localhost:9000'], 'it must be an http or https URL'],
    [['--controller', 'http://x', '-o', 'xml'], 'one of table, json, yaml, junit, prometheus, markdown'],
    [['--controller', 'http://x', '--only', 'REPLICATION'], 'did you mean `REPLICATION_CHECK`'],
    [['--controller', 'http://x', '--only', 'REPLICATOIN_CHECK'], 'did you mean `REPLICATION_CHECK`'],
    [['--controller', 'http://x', '--only', 'replicaton'], 'did you mean `REPLICATION_CHECK`'],
    [['--controller', 'http://x', '--threshold', 'REPLICATION_CHECK=2'], 'NAME.key=VALUE'],
    [['--controller', 'http://x', '--threshold', 'NO_CHECK.a=2'], 'unknown check `NO_CHECK`'],
    [['--controller', 'http://x', '--threshold', 'REPLICATION_CHECK.minReplication=many'], 'a finite number'],
    [['--controller', 'http://x', '--timeout', 'soon'], 'such as `90s`'],
    [['--controller', 'http://x', '--broker-scheme', 'ftp'], 'it must be one of http, https'],
    [['--controller', 'http://x', '--nonsense'], '--nonsense'],
    [['--controller', 'http://x', 'argument'], 'argument'],
  ])('exits with 2 for %j and prints the problem', async (args, words) => {
    expect(await run(args)).toBe(2);
    expect(stderr).toContain(words);
    expect(stderr).toContain('Usage: olap-warden check');
    // The problem stays on the screen.
    expect(stderr.split('\n').length).toBeLessThan(10);
  });

  it('prints the help', async () => {
    expect(await run(['--help'])).toBe(0);
    expect(stdout).toContain('Usage: olap-warden check');
  });

  it('prints progress and colours only to a terminal', async () => {
    await run(['--controller', url, ...failing], { stdoutIsTty: true, stderrIsTty: true });
    expect(stderr).toMatch(/^\r\d+ % of the cluster read, 0 of 1 checks/u);
    expect(stderr).toContain('1 of 1 checks, 1 failed');
    expect(stderr.endsWith('\r\u{1B}[K')).toBe(true);
    // The total grows while tables are found, but the displayed part does not go back.
    const percents = [...stderr.matchAll(/\r(\d+) %/gu)].map(([, percent]) => Number(percent));
    expect(percents).toEqual(percents.toSorted((a, b) => a - b));
    expect(stdout).toContain('\u{1B}[31mFAIL');
    stdout = '';
    await run(['--controller', url, ...failing], { stdoutIsTty: true, env: { NO_COLOR: '1' } });
    expect(stdout).not.toContain('\u{1B}');
  });

  it('prints JSON and YAML in the format of the REST API', async () => {
    await run(['--controller', url, ...failing, '-o', 'json']);
    const json = JSON.parse(stdout) as { durationMs: number; checks: { durationMs: number }[] };
    expect(json).toMatchObject({
      status: 'FAIL',
      summary: { pass: 0, fail: 1 },
      checks: [{ name: 'REPLICATION_CHECK', findingCount: 4 }],
    });
    stdout = '';
    await run(['--controller', url, ...failing, '-o', 'yaml']);
    const yaml = parse(stdout) as typeof json;
    expect({ ...yaml, durationMs: 0, checks: withoutDurations(yaml.checks) }).toEqual({
      ...json,
      durationMs: 0,
      checks: withoutDurations(json.checks),
    });
  });

  it('prints JUnit, Prometheus and Markdown', async () => {
    await run(['--controller', url, ...failing, '-o', 'junit']);
    expect(stdout).toContain('<failure message="4 tables have a replication below 3">');
    stdout = '';
    await run(['--controller', url, ...failing, '-o', 'prometheus']);
    expect(stdout).toContain('olap_warden_health_check_status{check="REPLICATION_CHECK",report="cluster"} 0');
    stdout = '';
    await run(['--controller', url, ...failing, '-o', 'markdown']);
    expect(stdout).toContain('| ❌ | REPLICATION_CHECK |');
  });
});
