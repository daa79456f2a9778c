import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { role } from '../../builders/resources.ts';
import { sharedControlPlane, type ControlPlaneClient } from '../../support/control-plane.ts';
import { connect, eventually, type Connection } from '../../support/operator.ts';
import { once } from '../../support/once.ts';

const SCRIPT = join(import.meta.dirname, '../../support/operator-process.ts');

let api: ControlPlaneClient;
let namespace: string;
let watcher: Connection;
const children: ChildProcess[] = [];

beforeAll(async () => {
  api = await sharedControlPlane();
  await api.applyCrds();
  namespace = await api.createNamespace('paused');
  await api.mustKubectl(['-n', namespace, 'apply', '-f', '-'], { input: JSON.stringify(role('journal')) });
  watcher = connect(api.kubeconfigPath, namespace);
  await watcher.store.synced();
});

afterAll(async () => {
  for (const child of children) child.kill('SIGKILL');
  await watcher.close();
});

interface Process {
  readonly child: ChildProcess;
  readonly said: () => string;
}

function startProcess(identity: string): Process {
  const child = spawn(process.execPath, [SCRIPT, api.kubeconfigPath, namespace, identity], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  children.push(child);
  let text = '';
  child.stdout.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
  return { child, said: () => text };
}

it('a leader that was paused longer than its lease writes nothing after it continues', async () => {
  /** The writers of the Role, in the order of the writes. */
  const writers: string[] = [];
  watcher.store.subscribe('Role', ({ object }) => {
    const writer = object.metadata.name === 'journal' ? object.spec.description?.split(' ')[0] : undefined;
    if (writer) writers.push(writer);
  });
  const lastWriter = (): string | undefined => writers.at(-1);

  const first = startProcess('first');
  await eventually(lastWriter, (writer) => writer === 'first');
  const second = startProcess('second');
  await new Promise((resolve) => setTimeout(resolve, 1500));
  expect(second.said()).toBe('');

  first.child.kill('SIGSTOP');
  await eventually(lastWriter, (writer) => writer === 'second');
  const takenOver = writers.length;
  first.child.kill('SIGCONT');
  await eventually(first.said, (text) => text === 'leading\nfollowing\n');
  // The first one had time for as many writes as the second one.
  const continued = writers.length;
  await eventually(
    () => writers.length,
    (count) => count > continued + 40,
  );

  const after = writers.slice(takenOver);
  expect(new Set(after)).toEqual(new Set(['second']));
  // The writers changed once: no write of one is between two writes of the other.
  expect(writers.join(' ').replaceAll(/\b(\w+)( \1)+\b/g, '$1')).toBe('first second');

  second.child.kill('SIGTERM');
  await once(second.child, 'exit');
  await eventually(lastWriter, (writer) => writer === 'first');
  first.child.kill('SIGTERM');
  const [code] = (await once(first.child, 'exit')) as [number];
  expect(code).toBe(0);
});
