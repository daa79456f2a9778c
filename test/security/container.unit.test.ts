import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parseAllDocuments } from 'yaml';

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
