import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { KubeConfig } from '@kubernetes/client-node';
import { systemClock } from '../../../src/platform/clock.ts';
import { Directory } from '../../../src/access/directory.ts';
import { ServiceTokenAuthenticator } from '../../../src/access/authenticators/service-token.ts';
import { RbacManager } from '../../../src/access/manager/manager.ts';
import { PREDEFINED_POLICIES, PREDEFINED_ROLES } from '../../../src/access/policy/predefined.ts';
import { rbacManager } from '../../../src/api/rbac/index.ts';
import { FolderStore } from '../../../src/store/folder/folder-store.ts';
import { KubernetesStore } from '../../../src/kubernetes/kubernetes-store.ts';
import { KubernetesTransport } from '../../../src/kubernetes/transport.ts';
import type { ResourceStore } from '../../../src/store/resource-store.ts';
import { roleAssignment } from '../../builders/resources.ts';
import { ALICE, testApp } from '../../support/app.ts';
import { sharedControlPlane } from '../../support/control-plane.ts';
import { checkAnswer } from './openapi-answers.ts';
import { WAIT_LIMIT_MS } from '../../support/limits.ts';

export interface Answer {
  readonly status: number;
  // Every response is validated by the OpenAPI document.
  // oxlint-disable-next-line typescript/no-explicit-any
  readonly body: any;
  readonly headers: Readonly<Record<string, unknown>>;
}

export interface Gateway {
  readonly store: ResourceStore;
  readonly directory: Directory;
  readonly serviceTokens: ServiceTokenAuthenticator;
  /** Calls a path of the RBAC manager and validates the response by the OpenAPI document. */
  call(
    method: 'GET' | 'POST' | 'PUT' | 'DELETE',
    path: string,
    body?: unknown,
    headers?: Readonly<Record<string, string>>,
  ): Promise<Answer>;
}

export interface Deployment {
  readonly gateways: readonly Gateway[];
  stop(): Promise<void>;
}

const BASE = '/api/v1/rbac-manager';

/** Creates the objects that the operator creates at its start, and makes Alice an administrator. */
async function prepare(store: ResourceStore): Promise<void> {
  await store.synced(AbortSignal.timeout(WAIT_LIMIT_MS));
  for (const policy of PREDEFINED_POLICIES) await store.create('Policy', policy);
  for (const role of PREDEFINED_ROLES) await store.create('Role', role);
  await store.create(
    'RoleAssignment',
    roleAssignment('first-administrator', {
      role: 'system-admin',
      subjects: [{ type: 'user-email', name: ALICE.id }],
    }),
  );
}

async function gateway(store: ResourceStore): Promise<Gateway & { close(): Promise<void> }> {
  const directory = new Directory(store, { environment: 'olap', cluster: 'pinot' });
  const manager = new RbacManager({ store, directory, clock: systemClock });
  const app = await testApp({
    authorizer: directory,
    register: (scope) => rbacManager(scope, { manager, queries: {} as never }),
  });
  return {
    store,
    directory,
    serviceTokens: new ServiceTokenAuthenticator(directory, { now: Date.now }),
    async call(method, path, body, headers = {}) {
      const payload = body === undefined ? {} : { payload: body as object };
      const answer = await app.inject({ method, url: BASE + path, headers, ...payload });
      const parsed: unknown = answer.body === '' ? undefined : JSON.parse(answer.body);
      checkAnswer(app, { method, path: BASE + path, status: answer.statusCode, body: parsed });
      return { status: answer.statusCode, body: parsed, headers: answer.headers };
    },
    async close() {
      await app.close();
      directory.close();
    },
  };
}

/** One gateway over a folder of manifests. */
export async function folderDeployment(): Promise<Deployment> {
  const directory = await mkdtemp(join(tmpdir(), 'olap-warden-rbac-'));
  const store = await FolderStore.open(directory, { debounceMs: 20 });
  await prepare(store);
  const only = await gateway(store);
  return {
    gateways: [only],
    async stop() {
      await only.close();
      await store.close();
      await rm(directory, { recursive: true });
    },
  };
}

/** Several gateways over one namespace of a real kube-apiserver, each with its own watch. */
export async function kubernetesDeployment(count = 2): Promise<Deployment & { readonly namespace: string }> {
  const plane = await sharedControlPlane();
  await plane.applyCrds();
  const namespace = await plane.createNamespace('rbac');
  const parts: {
    transport: KubernetesTransport;
    store: KubernetesStore;
    gateway: Awaited<ReturnType<typeof gateway>>;
  }[] = [];
  for (let index = 0; index < count; index++) {
    const load = (): KubeConfig => {
      const config = new KubeConfig();
      config.loadFromFile(plane.kubeconfigPath);
      return config;
    };
    const transport = new KubernetesTransport(load, { namespace });
    const store = new KubernetesStore({ transport });
    if (index === 0) await prepare(store);
    await store.synced(AbortSignal.timeout(WAIT_LIMIT_MS));
    parts.push({ transport, store, gateway: await gateway(store) });
  }
  return {
    namespace,
    gateways: parts.map((part) => part.gateway),
    async stop() {
      for (const part of parts) {
        await part.gateway.close();
        await part.store.close();
        await part.transport.close();
      }
    },
  };
}

/** `srn2:<kind>#<name>`, encoded for a path. */
export function inPath(kind: string, name: string): string {
  return `srn2:${kind}%23${name}`;
}

/** Repeats a check until it holds. @throws {Error} its last failure, after the time limit */
export async function soon(check: () => void | Promise<void>): Promise<void> {
  const end = Date.now() + WAIT_LIMIT_MS;
  for (;;) {
    try {
      await check();
      return;
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 10));
    }
  }
}
