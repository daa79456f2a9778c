// Known vulnerabilities of the dependencies (`npm audit`), and the list of those that are shipped as build/sbom.cdx.json (CycloneDX). A registry without advisories, such as a mirror, says
// nothing about the packages: the report says so, and REQUIRE_AUDIT=1 makes it a failure.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { bundle } from '../package/bundle.ts';
import { billOfMaterials } from '../package/shipped.ts';

const root = resolve(import.meta.dirname, '../..');
const TIMEOUT_MS = 120_000;
const MAX_OUTPUT_BYTES = 64 * 1024 * 1024;

/** @returns stdout, also of a program that fails */
async function npm(...args: readonly string[]): Promise<string> {
  const run = promisify(execFile);
  const options = { cwd: root, timeout: TIMEOUT_MS, maxBuffer: MAX_OUTPUT_BYTES };
  return run('npm', args, options).then(
    ({ stdout }) => stdout,
    (error: unknown) => (error as { stdout?: string }).stdout ?? '',
  );
}

interface AuditReport {
  readonly metadata?: { readonly vulnerabilities?: Readonly<Record<string, number>> };
  readonly vulnerabilities?: Readonly<Record<string, { readonly severity: string }>>;
  /** Of an audit that failed. */
  readonly message?: string;
}

export interface Audit {
  /** `unchecked`: nothing is known about the packages. */
  readonly outcome: 'clean' | 'vulnerable' | 'unchecked';
  readonly lines: readonly string[];
}

/** @param output of `npm audit --json`; empty where npm failed without one */
export function auditOf(output: string): Audit {
  const report = parsed(output);
  const total = report.metadata?.vulnerabilities?.['total'];
  if (total === undefined) {
    const why = report.message ?? 'npm returned no report';
    const elsewhere =
      'On a machine that reaches a registry with advisories: npm audit --omit=dev --registry=https://registry.npmjs.org';
    return { outcome: 'unchecked', lines: [`npm audit: could not be checked: ${why}`, elsewhere] };
  }
  const names = Object.entries(report.vulnerabilities ?? {}).map(([name, { severity }]) => `  ${name}: ${severity}`);
  const lines = [`npm audit: ${total} known vulnerabilities in shipped packages`, ...names];
  return { outcome: total > 0 ? 'vulnerable' : 'clean', lines };
}

function parsed(output: string): AuditReport {
  try {
    return JSON.parse(output) as AuditReport;
  } catch {
    return {};
  }
}

async function writeSbom(): Promise<void> {
  const { packages } = await bundle(join(root, 'build'));
  await mkdir(join(root, 'build'), { recursive: true });
  await writeFile(join(root, 'build/sbom.cdx.json'), billOfMaterials(packages));
  process.stdout.write(`build/sbom.cdx.json: ${packages.length} packages\n`);
}

if (import.meta.main) {
  const { outcome, lines } = auditOf(await npm('audit', '--omit=dev', '--json'));
  process.stdout.write(`${lines.join('\n')}\n`);
  const isRequired = process.env['REQUIRE_AUDIT'] === '1';
  if (outcome === 'vulnerable' || (outcome === 'unchecked' && isRequired)) process.exitCode = 1;
  await writeSbom();
}
