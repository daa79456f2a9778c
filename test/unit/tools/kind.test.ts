import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { spawn } from 'node:child_process';
import { createServer } from 'node:http';
import { createServer as createSocket, type AddressInfo, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { chooseCluster, dockerWorks } from '../../support/kind/choice.ts';
import { kindConfig, RELAY_PORTS, relayPod } from '../../support/kind/config.ts';
import { until } from '../../support/until.ts';
import { once } from '../../support/once.ts';

const NO_ROOT = 'a node in namespaces of its own needs root';

describe('the selected cluster', () => {
  it.each([
    ['kind where Docker works', true, undefined, { cluster: 'kind', otherwiseNode: true }],
    ['kind alone where a node cannot be held', true, NO_ROOT, { cluster: 'kind', otherwiseNode: false }],
    ['the node without Docker', false, undefined, { cluster: 'node' }],
  ])('is %s', (_, docker, nodeObstacle, choice) => {
    expect(chooseCluster(undefined, { docker, nodeObstacle })).toEqual(choice);
    expect(chooseCluster('', { docker, nodeObstacle })).toEqual(choice);
  });

  it('is none if neither is possible, with both reasons', () => {
    const choice = chooseCluster(undefined, { docker: false, nodeObstacle: NO_ROOT });
    expect(choice).toEqual({ cluster: 'none', obstacle: `kind needs a Docker that works here; ${NO_ROOT}` });
  });

  it('is the requested one, without a fallback', () => {
    const both = { docker: true, nodeObstacle: undefined };
    expect(chooseCluster('kind', both)).toEqual({ cluster: 'kind', otherwiseNode: false });
    expect(chooseCluster('node', both)).toEqual({ cluster: 'node' });
    expect(() => chooseCluster('kind', { ...both, docker: false })).toThrow('`docker info` fails');
    expect(() => chooseCluster('node', { ...both, nodeObstacle: NO_ROOT })).toThrow(NO_ROOT);
    expect(() => chooseCluster('minikube', both)).toThrow('E2E_CLUSTER is `minikube`; it must be `node`, `kind`');
  });
});

describe.skipIf(process.platform !== 'linux')('Docker', () => {
  let folder: string;
  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'olap-warden-docker-'));
  });
  afterEach(() => rm(folder, { recursive: true, force: true }));

  it.each([
    ['works where `docker info` succeeds', '[ "$1" = info ]', true],
    ['does not work where its daemon is not there', 'exit 1', false],
  ])('%s', async (_, script, works) => {
    const docker = join(folder, 'docker');
    await writeFile(docker, `#!/bin/sh\n${script}\n`);
    await chmod(docker, 0o755);
    expect(dockerWorks({ PATH: folder })).toBe(works);
  });

  it('does not work without the program', () => {
    expect(dockerWorks({ PATH: folder })).toBe(false);
  });
});

describe("kind's configuration", () => {
  const config = JSON.parse(
    kindConfig('/tmp/x', { 'audit-log-path': '/tmp/x/audit.log', 'audit-log-mode': 'blocking' }),
  );

  it('has the API server write its audit log into the folder of the host', () => {
    expect(config.nodes[0].extraMounts).toEqual([{ hostPath: '/tmp/x', containerPath: '/olap-warden' }]);
    const [{ patch }] = config.kubeadmConfigPatchesJSON6902;
    expect(JSON.parse(patch)).toEqual([
      { op: 'add', path: '/apiServer/extraArgs/-', value: { name: 'audit-log-path', value: '/olap-warden/audit.log' } },
      { op: 'add', path: '/apiServer/extraArgs/-', value: { name: 'audit-log-mode', value: 'blocking' } },
      {
        op: 'add',
        path: '/apiServer/extraVolumes',
        value: [{ name: 'olap-warden', hostPath: '/olap-warden', mountPath: '/olap-warden', pathType: 'Directory' }],
      },
    ]);
  });

  it('publishes the ports of relays only on the loopback interface, none of them a NodePort', () => {
    const ports = config.nodes[0].extraPortMappings;
    expect(ports.map(({ containerPort }: { containerPort: number }) => containerPort)).toEqual(RELAY_PORTS);
    expect(new Set(ports.map(({ listenAddress }: { listenAddress: string }) => listenAddress))).toEqual(
      new Set(['127.0.0.1']),
    );
    expect(Math.max(...RELAY_PORTS)).toBeLessThan(30_000);
  });
});

describe('a relay', () => {
  async function portOf(server: Server): Promise<number> {
    await once(server.listen(0, '127.0.0.1'), 'listening');
    return (server.address() as AddressInfo).port;
  }

  it('forwards to its server', async () => {
    const server = createServer((request, response) => response.end(`you requested ${request.url}`));
    const target = await portOf(server);
    const free = createSocket();
    const port = await portOf(free);
    free.close();
    const pod = relayPod({ port, host: '127.0.0.1', target, image: 'x:1' }) as Pod;
    const [, ...args] = pod.spec.containers[0].command;
    const relay = spawn(process.execPath, args, { stdio: 'inherit' });
    const ask = () => fetch(`http://127.0.0.1:${port}/x`, { headers: { connection: 'close' } }).catch(() => undefined);
    try {
      let answer: Response | undefined;
      await until('the relay answers', async () => (answer = await ask()) !== undefined);
      expect(await answer?.text()).toBe('you requested /x');
    } finally {
      relay.kill();
      server.close();
    }
  });

  interface Pod {
    readonly spec: { readonly containers: readonly [{ readonly command: readonly string[] }] };
  }
});
