import { spawn } from 'node:child_process';
import { EventEmitter } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { bounded } from '../../support/bounded-fetch.ts';
import { execute } from '../../support/execute.ts';
import { once } from '../../support/once.ts';
import { within } from '../../support/until.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const forever = (): Promise<never> => new Promise(() => undefined);

describe('a test that waits for what never comes says for what', () => {
  it('for a promise', async () => {
    await expect(within('the answer', forever(), 10)).rejects.toThrow('not within 0.01 s: the answer');
    expect(await within('the answer', Promise.resolve(42), 10)).toBe(42);
    await expect(within('the answer', Promise.reject(new Error('no')), 10)).rejects.toThrow('no');
  });

  it('for an event', async () => {
    await expect(once(new EventEmitter(), 'ready', {}, 10)).rejects.toThrow(
      'not within 0.01 s: `ready` of a EventEmitter',
    );
    const child = spawn('sleep', ['60']);
    try {
      const message = `not within 0.01 s: \`exit\` of \`sleep 60\` (process ${child.pid})`;
      await expect(once(child, 'exit', {}, 10)).rejects.toThrow(message);
    } finally {
      child.kill();
    }
    expect(await once(child, 'exit')).toEqual([null, 'SIGTERM']);
  });

  it('for the end of a program', async () => {
    await expect(execute('sleep', ['60'], { timeout: 50 })).rejects.toThrow('not within 0.05 s: the end of `sleep 60`');
    expect(await execute('echo', ['done'])).toEqual({ stdout: 'done\n', stderr: '' });
  });

  describe('for a response', () => {
    let server: Server;
    let url: string;
    beforeEach(async () => {
      server = createServer(() => undefined);
      await once(server.listen(0, '127.0.0.1'), 'listening');
      url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/tables`;
    });
    afterEach(() => {
      server.close();
      server.closeAllConnections();
    });

    it('of a server that sends none', async () => {
      const late = bounded(globalThis.fetch, 50)(url, { method: 'DELETE' });
      await expect(late).rejects.toThrow(`not within 0.05 s: the response to DELETE ${url}`);
    });
  });
});

/** Files that wait in another way, with the reason. */
const OTHER_WAITS: Readonly<Record<string, string>> = {
  'test/integration/results/kill-bucket.test.ts':
    'the end of a process that begins long before; the wait for it is bounded',
  'test/integration/tools/release.test.ts': 'the end of a process that begins long before; the wait for it is bounded',
  'test/support/execute.ts': 'bounds it',
  'test/support/node.ts': 'has a limit of its own',
  'test/support/once.ts': 'bounds it',
  'test/support/processes.ts': 'the end of a process that begins long before; the wait for it is bounded',
};

it('tests wait for events and programs by the functions that have a limit', () => {
  const unbounded = /import \{[^}]*\bonce\b[^}]*\} from 'node:events'|promisify\(execFile\)/;
  const found = globSync('test/**/*.ts', { cwd: ROOT })
    .filter((path) => join(ROOT, path) !== import.meta.filename)
    .filter((path) => unbounded.test(readFileSync(join(ROOT, path), 'utf8')));
  // Others use once() and execute() of test/support.
  expect(found.toSorted()).toEqual(Object.keys(OTHER_WAITS));
});
