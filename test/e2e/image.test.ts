import { readFileSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readdir, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { IMAGE_CONFIG } from '../../tools/image/config.ts';
import { ARCHITECTURES, makeRootFileSystem } from '../../tools/image/root-file-system.ts';
import { startControlPlane } from '../support/control-plane.ts';
import { execute } from '../support/execute.ts';
import { startGcs } from '../support/gcs.ts';
import { GatewayProcess } from '../support/gateway-process.ts';
import { applyManifests } from '../support/kubernetes/manifests.ts';
import { TEST_LIMIT_MS } from '../support/limits.ts';
import { OidcIssuer, signingKey } from '../support/oidc-issuer.ts';
import { Program } from '../support/processes.ts';
import { startProduct } from '../support/product-process.ts';
import { startS3 } from '../support/s3.ts';
import { SpanCollector } from '../support/span-collector.ts';
import { StubEngine } from '../support/stub-engine.ts';
import { until } from '../support/until.ts';
import { answerText, rowTexts } from '../unit/results/answers.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const MAX_IMAGE_BYTES = 150_000_000;
const ROWS = rowTexts(1_000);
const PREFIX = 'olap.broker.pagination';
const WHOAMI = '/api/v1/rbac-manager/whoami';
/** Nothing listens there. */
const NO_CONTROLLER = 'http://127.0.0.1:9';

// The files of the image, run as they are: from a folder that has no packages beside or above it.
let folder: string;
let image: string;
let command: string[];
let engine: StubEngine;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'olap-warden-image-'));
  image = join(folder, 'image');
  const own = ARCHITECTURES.find(({ node }) => node === process.arch);
  if (own === undefined) throw new Error(`no image for ${process.arch}`);
  await makeRootFileSystem(image, own);
  command = IMAGE_CONFIG.Entrypoint.map((path) => join(image, path));
  engine = new StubEngine(['orders_OFFLINE']);
  engine.responder = () => ({ body: answerText(ROWS) });
  await engine.listen();
}, TEST_LIMIT_MS);
afterAll(async () => {
  await engine?.close();
  await rm(folder, { recursive: true, force: true });
});

/** All files below a folder, by their paths in it. */
async function filesIn(at: string): Promise<string[]> {
  const entries = await readdir(at, { recursive: true, withFileTypes: true });
  return entries
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(at.length + 1))
    .sort();
}

/** Bundles have names with a hash, which depends on the folder of the packages. */
const besidesBundles = (files: readonly string[]): string[] =>
  files.filter((file) => !/^(?:web\/dist\/assets|dist)\/.*-\w{8}\./.test(file));

describe('the files of the image', () => {
  it('are Node with its libraries and the program, without packages and sources, in 150 MB', async () => {
    const files = await filesIn(image);
    const others = files.filter(
      (file) => !/^(?:app|nodejs\/bin\/node$|lib(?:64)?\/|etc\/(?:group|passwd)$)/.test(file),
    );
    expect(others).toEqual([]);
    expect(files.filter((file) => /node_modules|\.tsx?$/.test(file))).toEqual([]);
    const sizes = await Promise.all(files.map(async (file) => (await stat(join(image, file))).size));
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeLessThan(MAX_IMAGE_BYTES);
  });

  it('have the licence and a list entry of each package in the program', async () => {
    const app = join(image, 'app');
    const read = (name: string): string => readFileSync(join(app, name), 'utf8');
    const { components } = JSON.parse(read('sbom.cdx.json')) as { components: { name: string; version: string }[] };
    const notices = read('THIRD-PARTY-NOTICES.txt');
    const names = components.map(({ name, version }) => `${name} ${version} (`);
    expect(names.filter((name) => !notices.includes(`\n${name}`))).toEqual([]);
    // The bundler marks the begin of each module with its path.
    const bundle = (await filesIn(join(app, 'dist'))).map((name) => read(join('dist', name))).join('\n');
    const found = [...bundle.matchAll(/^ *\/\/ node_modules\/(?:.*node_modules\/)?((?:@[^/\n]+\/)?[^/\n]+)\//gm)];
    const listed = new Set(components.map(({ name }) => name));
    expect(found.length).toBeGreaterThan(500);
    expect([...new Set(found.map(([, name = '']) => name))].filter((name) => !listed.has(name))).toEqual([]);
  });

  it('are the same from the steps of the Containerfile', async () => {
    const [stage = ''] = readFileSync(join(ROOT, 'Containerfile'), 'utf8').split(/^FROM gcr/m);
    const build = join(folder, 'build');
    const output = join(folder, 'package');
    await mkdir(build);
    await symlink(join(ROOT, 'node_modules'), join(build, 'node_modules'));
    for (const [, paths = ''] of stage.matchAll(/^COPY (.*)$/gm)) {
      const sources = paths.split(' ');
      const to = join(build, sources.pop() ?? '');
      for (const source of sources) {
        const target = paths.endsWith('/') ? join(to, source) : to;
        await mkdir(dirname(target), { recursive: true });
        // As .containerignore excludes it.
        const filter = (path: string): boolean => !path.endsWith('/web/dist');
        await cp(join(ROOT, source), target, { recursive: true, filter });
      }
    }
    const step = /^RUN (node .*) \/package$/m.exec(stage)?.[1] ?? 'false';
    await execute('bash', ['-c', `${step} ${output}`], { cwd: build, timeout: TEST_LIMIT_MS });
    expect(besidesBundles(await filesIn(output))).toEqual(besidesBundles(await filesIn(join(image, 'app'))));
  });
});

describe('a command of the image', () => {
  async function run(...args: string[]): Promise<{ code: number; output: string }> {
    const [node = '', main = ''] = command;
    const program = new Program(node, [main, ...args], { cwd: folder, env: {} });
    return { code: await program.exited, output: program.output };
  }

  it('prints its version', async () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(await run('--version')).toEqual({ code: 0, output: `${version}\n` });
  });

  it('reports a setting, with the name of the problem and no stack', async () => {
    const { code, output } = await run('gateway', '--no-such-setting=1');
    expect(code).toBe(2);
    expect(output).toContain('no-such-setting');
    expect(output).not.toContain('    at ');
  });

  it('reports a cluster that cannot be checked', async () => {
    const { code, output } = await run('check', '--controller', NO_CONTROLLER);
    expect(code).toBe(2);
    expect(output).toBe(
      `error: the cluster is not reachable: \`GET /cluster/info\`: ${NO_CONTROLLER} is unreachable: connection failed (ECONNREFUSED)\n`,
    );
  });
});

describe('standalone of the image', () => {
  /** A query of 1,000 rows, its last page, and its download in all formats. */
  async function usesTheStore(gateway: GatewayProcess): Promise<void> {
    const path = '/query/sql?doPaginate=true&numRows=10';
    const submitted = await gateway.call('POST', path, { sql: 'SELECT id, city FROM orders LIMIT 1000' });
    const text = await submitted.text();
    expect(submitted.status, text).toBe(200);
    const { requestId } = JSON.parse(text) as { requestId: string };
    const page = await gateway.call('GET', `/query/${requestId}/results?offset=990&numRows=10`);
    expect(await page.text()).toContain(ROWS.slice(990).join(','));
    for (const format of ['csv', 'jsonl', 'arrow', 'parquet']) {
      const download = await gateway.call('GET', `/query/${requestId}/results?format=${format}`);
      expect([format, download.status]).toEqual([format, 200]);
      expect((await download.arrayBuffer()).byteLength, format).toBeGreaterThan(ROWS.length);
    }
  }

  async function withGateway(
    options: Partial<Parameters<typeof GatewayProcess.start>[0]>,
    use: (gateway: GatewayProcess) => Promise<void>,
  ): Promise<void> {
    const gateway = await GatewayProcess.start({ controllers: engine.url, command, ...options });
    try {
      await use(gateway);
    } finally {
      await gateway.stop();
    }
  }

  it('serves pages, downloads, the dashboard and the pages of the checks from memory', async () => {
    await withGateway({ properties: [`${PREFIX}.protocol=memory`] }, async (gateway) => {
      await usesTheStore(gateway);
      for (const path of ['/ui/', '/docs/checks/SEGMENT_COUNT_CHECK', '/openapi.json'])
        expect([path, (await gateway.call('GET', path)).status]).toEqual([path, 200]);
    });
  });

  it('stores results in files', async () => {
    const properties = [`${PREFIX}.protocol=file`, `${PREFIX}.file.data.dir=${join(folder, 'results')}`];
    await withGateway({ properties }, usesTheStore);
  });

  it('stores results in S3', async () => {
    const server = await startS3();
    try {
      const { bucket, endpoint, region, accessKeyId, secretAccessKey } = await server.bucket('image');
      const values = { bucket, endpoint, region, 'path.style': true, 'access.key': accessKeyId };
      const properties = Object.entries({ ...values, 'secret.key': secretAccessKey });
      const all = properties.map(([name, value]) => `${PREFIX}.s3.${name}=${value}`);
      await withGateway({ properties: [`${PREFIX}.protocol=s3`, ...all] }, usesTheStore);
    } finally {
      await server.stop();
    }
  });

  it('stores results in GCS', async () => {
    const server = await startGcs();
    try {
      const { bucket, endpoint } = await server.bucket('image');
      const all = [`${PREFIX}.protocol=gcs`, `${PREFIX}.gcs.bucket=${bucket}`, `${PREFIX}.gcs.endpoint=${endpoint}`];
      await withGateway({ properties: all }, usesTheStore);
    } finally {
      await server.stop();
    }
  });

  it('accepts OIDC tokens and exports traces', async () => {
    const issuer = await OidcIssuer.start([await signingKey('first')]);
    const collector = await SpanCollector.start();
    try {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' };
      const flags = { 'oidc-issuer': issuer.url, 'oidc-audiences': 'olap-warden' };
      await withGateway({ env, flags }, async (gateway) => {
        const token = await issuer.token({ user: { email: 'ann@example.com', verified: true } });
        const response = await fetch(gateway.url + WHOAMI, { headers: { authorization: `Bearer ${token}` } });
        expect(await response.json()).toMatchObject({ srn: 'srn2:user#ann@example.com', authenticator: 'oidc' });
        await until('spans are exported', () => collector.spans.length > 0);
      });
    } finally {
      await collector.close();
      await issuer.stop();
    }
  });
});

describe('operator and gateway of the image', () => {
  it('work on a Kubernetes API', async () => {
    const api = await startControlPlane();
    const programs: Program[] = [];
    const namespace = 'olap';
    const start = (name: 'operator' | 'gateway', settings: Readonly<Record<string, string>> = {}) =>
      startProduct(api, name, {
        ...{ namespace, command },
        settings: { controllers: NO_CONTROLLER, ...settings },
        onStart: (program) => programs.push(program),
      });
    try {
      await api.applyCrds();
      await api.mustKubectl(['create', 'namespace', namespace]);
      await applyManifests(api);
      const token = await api.serviceAccountToken(namespace, 'admin', { audience: 'olap-warden' });
      await start('operator', { 'admin-subject': `user-email:system:serviceaccount:${namespace}:admin` });
      const gateway = await start('gateway');
      const create = async (): Promise<boolean> => {
        const response = await fetch(`${gateway.url}/api/v1/rbac-manager/roles`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
          body: JSON.stringify({ name: 'readers', description: 'readers' }),
        });
        return response.status === 200;
      };
      await until('the administrator creates a role', create);
      const ready = ['wait', '-n', namespace, '--for=condition=Ready', '--timeout=60s', 'roles.olapwarden.io/readers'];
      await api.mustKubectl(ready);
    } finally {
      for (const program of programs) program.signalGroup('SIGKILL');
      await api.stop();
    }
  });
});
