import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { PROPERTIES } from '../../../src/app/parts/properties.ts';
import { SettingsError } from '../../../src/config/keys.ts';
import { loadSettings, type LoadedSettings } from '../../../src/config/settings.ts';
import { RESULT_STORES } from '../../../src/results/stores/result-stores.ts';
import { nearest } from '../../../src/resources/nearest.ts';

const PROTOCOLS = RESULT_STORES.map(({ protocol }) => `\`${protocol}\``).join(', ');

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-settings-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

const load = (args: string[] = [], env: Record<string, string> = {}): Promise<LoadedSettings> =>
  loadSettings({ args, env, properties: PROPERTIES, suggest: nearest });

async function file(name: string, content: string): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, content);
  return path;
}

async function problems(args: string[], env: Record<string, string> = {}): Promise<readonly string[]> {
  try {
    await load(args, env);
  } catch (error) {
    if (error instanceof SettingsError) return error.problems;
    throw error;
  }
  return [];
}

describe('the sources of settings', () => {
  it('defaults', async () => {
    const { settings, properties } = await load();
    expect(settings).toMatchObject({ port: 8080, 'metrics-port': 9090, 'data-dir': './data', cluster: 'pinot' });
    expect(properties).toMatchObject({
      'olap.broker.query.page.size': 10_000,
      'olap.broker.pagination.expiration': 3_600_000,
      'controller.cluster.pagination.cleaner.frequencyPeriod': 3_600_000,
      'olap.broker.pagination.protocol': 'memory',
      'olap.broker.pagination.temp.dir': '/tmp/olap/query/broker',
      'olap.broker.pagination.file.enableStorageCleaner': false,
      'olap.broker.pagination.file.maxStoragePerBrokerMB': 1024,
      'olap.broker.pagination.file.criticalStorageThresholdPercent': 90,
      'olap.broker.pagination.file.targetStorageThresholdPercent': 60,
    });
    expect(properties['controller.cluster.pagination.cleaner.initialDelay']).toBeUndefined();
  });

  it('flags override variables, and variables override the file', async () => {
    const path = await file('order.yaml', 'port: 1001\nmetrics-port: 1002\ncluster: from-file\n');
    const { settings } = await load(['--config', path, '--port=3001'], {
      PORT: '2001',
      METRICS_PORT: '2002',
    });
    expect([settings.port, settings['metrics-port'], settings.cluster]).toEqual([3001, 2002, 'from-file']);
  });

  it('the variable with the prefix overrides the one without', async () => {
    const { settings } = await load([], {
      PORT: '1',
      OLAP_WARDEN_PORT: '2',
      OLAP_CONTROLLER: 'http://a:9000/,http://b:9000',
    });
    expect(settings.port).toBe(2);
    expect(settings.controllers).toEqual(['http://a:9000', 'http://b:9000']);
  });

  it('nested YAML, dotted keys and properties files are equivalent', async () => {
    const nested = await file(
      'n.yaml',
      'olap:\n  broker:\n    query:\n      page.size: 5\nadmin-subject: [group:a, "user-email:b@c.d"]\n',
    );
    const flat = await file(
      'f.properties',
      '# comment\nolap.broker.query.page.size = 5\nadmin-subject=group:a,user-email:b@c.d\n',
    );
    for (const path of [nested, flat]) {
      const { settings, properties } = await load(['--config', path]);
      expect(properties['olap.broker.query.page.size']).toBe(5);
      expect(settings['admin-subject']).toEqual(['group:a', 'user-email:b@c.d']);
    }
  });

  it('`--set` sets a property, and a repeated flag makes a list', async () => {
    const { settings, properties } = await load([
      '--set',
      'olap.broker.pagination.expiration=1h30m',
      '--set=controller.cluster.pagination.cleaner.initialDelay=random',
      '--admin-subject',
      'group:a',
      '--admin-subject',
      'group:b',
      '--kubernetes-tokens',
      'false',
    ]);
    expect(properties['olap.broker.pagination.expiration']).toBe(5_400_000);
    expect(settings['admin-subject']).toEqual(['group:a', 'group:b']);
    expect(settings['kubernetes-tokens']).toBe(false);
  });

  it('variables that Kubernetes sets for a Service are ignored', async () => {
    const { settings } = await load([], {
      OLAP_WARDEN_PORT: 'tcp://10.0.0.1:80',
      OLAP_WARDEN_SERVICE_HOST: '10.0.0.1',
      OLAP_WARDEN_PORT_80_TCP_ADDR: '10.0.0.1',
    });
    expect(settings.port).toBe(8080);
  });
});

describe('a problem has its source, its key and what is expected', () => {
  it.each([
    [['--port', 'http'], {}, 'flag --port: `port`: `http` is not an integer'],
    [['--port', '70000'], {}, 'flag --port: `port`: `70000` is too large: the maximum is 65535'],
    [['--clutser', '1'], {}, 'unknown flag `--clutser`; did you mean `--cluster`?'],
    [['--port'], {}, 'flag --port: missing value'],
    [
      ['--max-view-age=20s'],
      {},
      'invalid `max-view-age`: 20s is less than 30s; the view is up to 25 s old without any outage',
    ],
    [
      ['--health-webhook-url=http://a/b'],
      {},
      'invalid `health-webhook-url`: it must be an https URL, unless `health-webhook-allow-http` is set',
    ],
    [
      ['--health-webhook-url=https://user:secret@a/b'],
      {},
      'invalid `health-webhook-url`: a credential belongs into `health-webhook-credential-file`',
    ],
    [
      ['--health-webhook-credential-file=/a'],
      {},
      'missing `health-webhook-url`: it is required with `health-webhook-credential-file`',
    ],
    [['gateway'], {}, 'unexpected argument `gateway`: flags begin with `--`'],
    [
      [],
      { OLAP_WARDEN_LOG_LEVL: 'x' },
      'environment variable OLAP_WARDEN_LOG_LEVL: unknown setting; did you mean `OLAP_WARDEN_LOG_LEVEL`?',
    ],
    [
      [],
      { OLAP_CONTROLLER: 'pinot:9000' },
      'environment variable OLAP_CONTROLLER: `controllers`: `pinot:9000` contains `pinot:9000`, which is not a URL such as `http://pinot-controller:9000`',
    ],
    [
      ['--set', 'olap.broker.query.pagesize=1'],
      {},
      'flag --set: unknown key `olap.broker.query.pagesize`; did you mean `olap.broker.query.page.size`?',
    ],
    [
      ['--set', 'olap.broker.pagination.protocol=redis'],
      {},
      `flag --set: \`olap.broker.pagination.protocol\`: \`redis\` is not one of ${PROTOCOLS}`,
    ],
    [
      ['--set', 'olap.broker.pagination.expiration=soon'],
      {},
      'flag --set: `olap.broker.pagination.expiration`: `soon` is not a duration such as `20m` or `1h30m`',
    ],
    [
      ['--set', 'olap.broker.pagination.protocol=s3'],
      {},
      'missing `olap.broker.pagination.s3.bucket`: it is required with `olap.broker.pagination.protocol` `s3`',
    ],
    [
      ['--admin-subject', 'me'],
      {},
      'flag --admin-subject: `admin-subject`: `me` contains `me`, which is not a subject such as `user-email:you@example.com` or `group:admins`',
    ],
    [['--tls-cert-file', 'a'], {}, '`tls-cert-file` and `tls-key-file` must be set together'],
    [['--config', '/nowhere.yaml'], {}, 'cannot read the configuration file `/nowhere.yaml`: it does not exist'],
  ])('%j %j', async (args, env, message) => {
    expect(await problems(args, env as Record<string, string>)).toEqual([message]);
  });

  it('suggests the closest key for one in a file, and has the line of a properties file', async () => {
    const yaml = await file('bad.yaml', 'metrics-prot: 1\nolap.broker.query.page.size: [1]\n');
    expect(await problems(['--config', yaml])).toEqual([
      `${yaml}: unknown key \`metrics-prot\`; did you mean \`metrics-port\`?`,
      `${yaml}: \`olap.broker.query.page.size\`: \`[1]\` is not a single value; it must be an integer`,
    ]);
    const lines = await file('bad.properties', 'port=1\nnonsense\n');
    expect(await problems(['--config', lines])).toEqual([
      `${lines}, line 2: the line must have the form \`key=value\``,
    ]);
  });

  it('names both places of a key that a file has twice, of which one would silently be used', async () => {
    const lines = await file('twice.properties', 'port=8081\n# again\nport: 8082\n');
    expect(await problems(['--config', lines])).toEqual([
      `${lines}, line 3: \`port\` is given twice: the first one is in ${lines}, line 1`,
    ]);
    const nested = await file('twice.yaml', 'olap:\n  broker.query.page.size: 5\nolap.broker:\n  query.page.size: 6\n');
    expect(await problems(['--config', nested])).toEqual([
      `${nested}: \`olap.broker.query.page.size\` is given twice: once nested, once with dots`,
    ]);
  });

  it('never contains a secret', async () => {
    const path = await file('secret.yaml', 'olap.broker.pagination.s3.secret.key: {a: hunter2}\n');
    expect((await problems(['--config', path])).join()).not.toContain('hunter2');
  });

  it('reports invalid YAML', async () => {
    const path = await file('broken.yaml', 'port: [1\n');
    expect((await problems(['--config', path]))[0]).toContain('invalid YAML');
  });
});

describe('the settings of a further cluster', () => {
  it('have a name that its report and its folder can have', async () => {
    const named = (cluster: string) => problems(['--further-cluster', `--cluster=${cluster}`]);
    expect(await named('sales-2')).toEqual([]);
    for (const name of ['cluster', 'Sales', 'sales_2', '../x', '-a', 'a'.repeat(64)])
      expect(await named(name), name).toEqual([
        `invalid \`cluster\`: with \`further-cluster\` it must be a name of lowercase letters, digits and \`-\` other than \`cluster\`, not \`${name}\``,
      ]);
    expect(await problems(['--cluster=Sales_2'])).toEqual([]);
  });
});
