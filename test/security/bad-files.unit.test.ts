// @module-tag slow
import { execFileSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { readCertificate } from '../../src/app/parts/certificate.ts';
import { parseConfig } from '../../src/config/file.ts';
import { SettingsError } from '../../src/config/keys.ts';
import type { Settings } from '../../src/config/schema.ts';
import { run as runCommandLine } from '../../src/commands/run.ts';
import { CredentialSource, type KubernetesConfig } from '../../src/kubernetes/credentials.ts';
import { KubeconfigError, loadKubeconfig } from '../../src/kubernetes/kubeconfig.ts';
import { systemClock } from '../../src/platform/clock.ts';
import { check, checkAsync, mutated, pieces } from './support/fuzz.ts';

// Files of the administrator with any content: each is used or rejected with one line, which repeats no credential from the file.

/** Certificates are parsed for each of these inputs. */
const SLOW_INPUTS = 200;
const SECRET = 'SECRET0123456789SECRET';
let folder: string;
let file: string;
let certFile: string;
let keyFile: string;
let cert: string;
let key: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'olap-warden-bad-files-'));
  file = join(folder, 'file');
  certFile = join(folder, 'tls.crt');
  keyFile = join(folder, 'tls.key');
  const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256'];
  const subject = ['-subj', '/CN=127.0.0.1', '-days', '2'];
  execFileSync('openssl', ['req', '-x509', '-nodes', ...curve, ...subject, '-keyout', keyFile, '-out', certFile], {
    stdio: 'ignore',
  });
  cert = readFileSync(certFile, 'utf8');
  key = readFileSync(keyFile, 'utf8');
});
afterAll(() => rmSync(folder, { recursive: true }));

/** One line that repeats no credential. */
function expectPlain(message: string): void {
  expect(message).not.toMatch(/[\r\n]/);
  expect(message).not.toContain(SECRET);
  expect(message.length).toBeGreaterThan(20);
}

const YAML = ['\n', '  ', '- ', ': ', '{', '}', '[', ']', '&a ', '*a', '<<: *a', '!!binary ', '|', '"', '#', '---\n'];

function kubeconfig(): string {
  const base64 = (text: string): string => Buffer.from(text).toString('base64');
  return `apiVersion: v1
kind: Config
current-context: x
clusters:
- name: c
  cluster:
    server: https://127.0.0.1:1
    certificate-authority-data: ${base64(cert)}
contexts:
- name: x
  context: {cluster: c, user: u, namespace: olap}
users:
- name: u
  user:
    token: ${SECRET}
    client-certificate-data: ${base64(cert)}
    client-key-data: ${base64(key)}
`;
}

describe('a file with any content', () => {
  const printed = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  afterAll(() => {
    // A warning of a parser repeats a part of the file.
    expect(printed.mock.calls).toEqual([]);
    printed.mockRestore();
  });

  it('as kubeconfig is used, or rejected', async () => {
    const values = [
      'null',
      'true',
      '1',
      'clusters',
      'users',
      'user',
      'server: ftp://a',
      'proxy-url: x',
      'token: "a\\nb"',
    ];
    const content = fc.oneof(
      { weight: 6, arbitrary: mutated(kubeconfig(), ...YAML, ...values) },
      pieces(...YAML, ...values, SECRET),
      fc.uint8Array({ maxLength: 64 }),
    );
    let used = 0;
    await checkAsync(
      content,
      async (bytes) => {
        writeFileSync(file, bytes);
        let config: KubernetesConfig;
        try {
          config = loadKubeconfig(file, {});
        } catch (error) {
          if (!(error instanceof KubeconfigError)) throw error;
          expectPlain(error.message);
          return;
        }
        try {
          const { server } = await new CredentialSource(() => config, systemClock).get();
          expect(server).toMatch(/^https?:/);
          used++;
        } catch (error) {
          expectPlain((error as Error).message);
        }
      },
      SLOW_INPUTS,
    );
    expect(used).toBeGreaterThan(0);
  });

  it('as certificate and key is a pair, or rejected', async () => {
    const pem = ['-----BEGIN CERTIFICATE-----\n', '-----END PRIVATE KEY-----\n', '\n', '=', 'A', '\u0000'];
    const settings = { 'tls-cert-file': certFile, 'tls-key-file': keyFile } as Settings;
    let pairs = 0;
    await checkAsync(
      fc.tuple(mutated(cert, ...pem), mutated(key, ...pem)),
      async ([certificate, privateKey]) => {
        writeFileSync(certFile, certificate);
        writeFileSync(keyFile, privateKey);
        try {
          expect(await readCertificate(settings)).toBeDefined();
          pairs++;
        } catch (error) {
          if (!(error instanceof SettingsError)) throw error;
          expectPlain(error.message);
          for (const line of key.split('\n').slice(1, -2)) expect(error.message).not.toContain(line);
        }
      },
      SLOW_INPUTS,
    );
    expect(pairs).toBeGreaterThan(0);
  });

  it('as configuration has keys and values, or is rejected', () => {
    const yaml = `port: 8080\nolap.broker:\n  pagination.s3.secret.key: ${SECRET}\n  list: [1, 2]\n`;
    const content = fc.oneof(mutated(yaml, ...YAML), mutated(yaml.replaceAll(': ', '='), '\\', '=', '\n', '\u0000'));
    check(fc.tuple(content, fc.constantFrom('a.yaml', 'a.properties')), ([text, source]) => {
      try {
        for (const { key: name } of parseConfig(text, source)) expect(typeof name).toBe('string');
      } catch (error) {
        if (!(error instanceof SettingsError)) throw error;
        for (const problem of error.problems) expectPlain(problem);
      }
    });
  });
});

describe('what parsers say about a file', () => {
  const content = `? {a: ${SECRET}}\n: x\nusers: []\nclusters: []\n`;
  it.each([
    ['a map as a key', content],
    ['a mark that is no token', `port: 1\nsecret:\n | ${SECRET}\n  a: b\n`],
    ['an alias without an anchor', `a: *${SECRET}\n`],
    ['an unknown tag', `a: !${SECRET} b\n c\n`],
  ])('is not repeated: %s', (_name, yaml) => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const messages: string[] = [];
    for (const read of [() => parseConfig(yaml, 'a.yaml'), () => loadKubeconfig(written(yaml), {})]) {
      try {
        read();
      } catch (error) {
        messages.push((error as Error).message);
      }
    }
    expect(messages.join('\n')).not.toContain(SECRET);
    expect(warned.mock.calls).toEqual([]);
    warned.mockRestore();
  });

  function written(yaml: string): string {
    writeFileSync(file, yaml);
    return file;
  }
});

describe('a process with', () => {
  const valid = (change: (text: string) => string): string => change(kubeconfig());
  const run = async (...args: string[]): Promise<{ code: number; stderr: string }> => {
    let stderr = '';
    const code = await runCommandLine(
      [...args, '--metrics-port=0', '--port=0', '--host=127.0.0.1', '--log-level=silent'],
      {
        env: {},
        stdout: () => undefined,
        stderr: (text: string) => void (stderr += text),
      },
    );
    return { code, stderr };
  };

  it.each([
    ['YAML that cannot be parsed', () => `users: [\n${SECRET}: [`, 'invalid YAML in line 2'],
    ['nothing in it', () => '', 'it is not a kubeconfig'],
    ['a list in it', () => `- ${SECRET}`, 'names no cluster'],
    ['a server that is no URL', () => valid((text) => text.replace('https:', 'ftp:')), '`server` of its cluster'],
    [
      'a CA that is no certificate',
      () => valid((text) => text.replace(/authority-data: \S+/, 'authority-data: AAAA')),
      'the CA is not a PEM certificate',
    ],
    [
      'a key that is no key',
      () => valid((text) => text.replace(/key-data: \S+/, 'key-data: AAAA')),
      'client certificate or client key is invalid',
    ],
    [
      'a context with an unknown user',
      () => valid((text) => text.replace('user: u,', 'user: v,')),
      'is not in `users`',
    ],
  ])('a kubeconfig with %s ends with one line', async (_name, content, reason) => {
    writeFileSync(file, content());
    const { code, stderr } = await run('operator', `--kubeconfig=${file}`);
    expect(stderr).toContain(reason);
    expect(stderr.trimEnd()).not.toMatch(/\n/);
    expect(stderr).not.toContain(SECRET);
    expect(code).toBe(2);
  });
});
