import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';
import { IMAGE_CONFIG } from '../../tools/image/config.ts';
import { NODE_OPTIONS } from '../../tools/image/node-options.ts';

const ROOT = join(import.meta.dirname, '../..');
const read = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

interface Container {
  readonly name: string;
  readonly image: string;
  readonly command?: unknown;
  readonly securityContext?: object;
}
interface PodSpec {
  readonly hostNetwork?: unknown;
  readonly hostPID?: unknown;
  readonly securityContext?: object;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
}
interface Workload {
  readonly kind: string;
  readonly metadata: { readonly name: string };
  readonly spec?: { readonly template?: { readonly spec: PodSpec } };
}

describe('the container image', () => {
  const stages = read('Containerfile')
    .split(/^FROM /m)
    .slice(1);
  const last = stages.at(-1) ?? '';

  it('has no shell: its base is distroless, and nothing runs or is copied into it but the program', () => {
    expect(last).toMatch(/^gcr\.io\/distroless\/nodejs\d+-debian\d+:nonroot\n/);
    expect(last).not.toMatch(/^RUN /m);
    expect([...last.matchAll(/^COPY .* (\S+)$/gm)].map(([, to]) => to).filter((to) => !to?.startsWith('./'))).toEqual(
      [],
    );
  });

  it('runs as a numeric user without rights on its files, and starts without a shell', () => {
    expect(last).toMatch(/^USER 65532:65532$/m);
    expect([...last.matchAll(/^COPY (.*)$/gm)].filter(([, copy]) => !copy?.includes('--chown=0:0'))).toEqual([]);
    // The form without brackets would call a shell.
    expect(last).toMatch(/^ENTRYPOINT \["/m);
  });

  it('starts in the same way where it is packed without a container builder', () => {
    const lineOf = (name: string): string => new RegExp(`^${name} (.*)$`, 'm').exec(last)?.[1] ?? '';
    const { Entrypoint, Cmd, User, WorkingDir, Env, ExposedPorts } = IMAGE_CONFIG;
    expect(JSON.parse(lineOf('ENTRYPOINT'))).toEqual(Entrypoint);
    expect(JSON.parse(lineOf('CMD'))).toEqual(Cmd);
    expect(lineOf('USER')).toBe(User);
    expect(lineOf('WORKDIR')).toBe(WorkingDir);
    const variables = /^ENV ((?:.*\\\n)*.*)$/m.exec(last)?.[1]?.split(/\s+(?:\\\n\s*)?/);
    expect(variables).toEqual(Env.filter((variable) => !variable.startsWith('PATH=')));
    expect(
      lineOf('EXPOSE')
        .split(' ')
        .map((port) => `${port}/tcp`),
    ).toEqual(Object.keys(ExposedPorts));
  });

  it('has options that Node.js takes from NODE_OPTIONS', () => {
    const heapLimit = (options: string): number => {
      const program = 'v8.getHeapStatistics().heap_size_limit';
      return Number(execFileSync(process.execPath, ['-p', program], { env: { NODE_OPTIONS: options } }));
    };
    expect(heapLimit(NODE_OPTIONS.join(' '))).toBeLessThan(heapLimit(''));
  });
});

describe('each pod of the manifests', () => {
  const documents = parseAllDocuments(read('manifests/install.yaml')).map(
    (document) => document.toJS() as Workload | null,
  );
  const workloads = documents.filter((document): document is Workload => document?.spec?.template?.spec !== undefined);

  it('is found', () => {
    expect(workloads.map(({ kind }) => kind).toSorted()).toEqual(expect.arrayContaining(['Deployment']));
  });

  it.each(workloads.map((workload) => [`${workload.kind} ${workload.metadata.name}`, workload] as const))(
    '%s has no capabilities, cannot gain any, and writes no file of the image',
    (_name, { spec }) => {
      const pod = spec?.template?.spec as PodSpec;
      expect(pod.securityContext).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
      expect([pod.hostNetwork, pod.hostPID]).toEqual([undefined, undefined]);
      for (const { securityContext } of [...pod.containers, ...(pod.initContainers ?? [])])
        expect(securityContext).toMatchObject({
          allowPrivilegeEscalation: false,
          readOnlyRootFilesystem: true,
          capabilities: { drop: ['ALL'] },
        });
    },
  );
});
