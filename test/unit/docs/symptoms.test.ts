import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { ROOT } from '../../support/documents/pages.ts';

function section(): string {
  const page = readFileSync(join(ROOT, 'docs/operations.md'), 'utf8');
  return page.split('\n## Troubleshooting by symptom\n')[1]?.split('\n## ')[0] ?? '';
}

/** The rows of the table of symptoms: the text in backticks of the first column. */
function symptoms(): string[] {
  return [...section().matchAll(/^\| [^|`]*`([^`|]+)` \|/gm)].map(([, text]) => text!);
}

/** The test that brings about a symptom, and a text of its expectation; the rows of the table in its order. */
const TESTS: readonly (readonly [symptom: string, test: string, text: string])[] = [
  ['no credential was sent', 'test/unit/api/server/authentication/authentication.test.ts', 'no credential was sent: '],
  ['no statement of its roles', 'test/unit/api/app.test.ts', 'no statement of its roles allows it'],
  ['try again in … s', 'test/unit/api/server/authentication/authentication.test.ts', ': try again in '],
  [
    'access cannot be decided',
    'test/unit/api/server/authentication/authentication.test.ts',
    'access cannot be decided now: ',
  ],
  [
    'the credential cannot be checked',
    'test/unit/api/server/authentication/authentication.test.ts',
    'cannot be checked now: ',
  ],
  ['the gateway is overloaded', 'test/unit/api/app.test.ts', 'the gateway is overloaded: try again'],
  ['is not running', 'test/unit/api/queries/three-gateways.test.ts', 'is not running; try again later'],
  ['which stores the result', 'test/unit/api/queries/silent-gateway.test.ts', 'does not respond'],
  [
    'rejects the credential of the gateway',
    'test/unit/pinot/unwell-brokers.test.ts',
    'rejects the credential of the gateway',
  ],
  ['the disk of the result store', 'test/unit/results/stores/file/file-io.test.ts', 'the result store is full'],
  ['the memory store uses', 'test/unit/results/stores/memory/memory-store.test.ts', 'the memory store uses'],
  ['the bucket', 'test/integration/results/unusable-store.test.ts', 'did not respond within 12 s'],
  ['the result store `', 'test/integration/results/unusable-store.test.ts', 'cannot be used: the secret key is wrong'],
  ['of the result store cannot', 'test/integration/results/unusable-store.test.ts', 'of the result store cannot be'],
  ['is in use by another', 'test/unit/commands/run.test.ts', 'is in use by another program'],
  ['resource watch failed', 'test/integration/app/logged-symptoms.test.ts', 'resource watch failed; retrying'],
  ['reconciliation failed', 'test/unit/operator/controller/controller-loop.test.ts', 'reconciliation failed; retrying'],
  [
    'an error was not handled',
    'test/integration/app/unhandled-errors.test.ts',
    'an error was not handled; the process',
  ],
  ['a record could not be written', 'test/unit/platform/logging.test.ts', 'a record could not be written to the log'],
  [
    'log lines were dropped',
    'test/integration/app/blocked-output.test.ts',
    'log lines were dropped because they could',
  ],
  [
    'the audit file cannot',
    'test/faults/surroundings.integration.test.ts',
    'no change is made while the audit file cannot',
  ],
  [
    'the records of your changes',
    'test/unit/api/rbac/audit.test.ts',
    'the records of your changes would exceed the share of the audit file',
  ],
  [
    'the last record of the audit file',
    'test/integration/app/logged-symptoms.test.ts',
    'the last record of the audit file is incomplete',
  ],
  [
    'the keys of the OIDC',
    'test/faults/surroundings.integration.test.ts',
    'failed to read the keys of the OIDC issuer',
  ],
  ['a connection could not be', 'test/unit/api/server/server.test.ts', 'a connection could not be accepted'],
  [
    'configuration file rejected',
    'test/integration/app/logged-symptoms.test.ts',
    'configuration file rejected; keeping',
  ],
];

describe('the table of symptoms in docs/operations.md', () => {
  it('has texts of the source only', () => {
    // A text that continues on the next line of the source is one text, as is what a template puts in.
    const sources = globSync('src/**/*.ts', { cwd: ROOT }).map((path) =>
      readFileSync(join(ROOT, path), 'utf8')
        .replaceAll(/\$\{[^}]*\}/g, '…')
        .replaceAll(/\\?`…\\?`/g, '…'),
    );
    const rows = symptoms();
    expect(rows.length).toBeGreaterThanOrEqual(13);
    const parts = rows.map((text) => text.split('…').filter((part) => /[a-z]{3}/.test(part)));
    expect(parts.filter((row) => row.length === 0)).toEqual([]);
    const unknown = parts.flatMap((row) =>
      row.filter((part) => !sources.some((source) => source.includes(part.trim()))),
    );
    expect(unknown).toEqual([]);
  });

  it('has a test for each row', () => {
    const rows = section().match(/^\| (?!symptom|---).*? \|/gm) ?? [];
    expect(rows).toEqual(TESTS.map(([symptom]) => expect.stringContaining(symptom) as string));
    const without = TESTS.filter(([, test, text]) => !readFileSync(join(ROOT, test), 'utf8').includes(text));
    expect(without).toEqual([]);
  });
});
