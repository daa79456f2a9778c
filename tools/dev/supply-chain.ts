// Known vulnerabilities of the shipped packages (`npm audit`), and their list as build/sbom.cdx.json (CycloneDX). A registry without advisories is reported and does
// not fail: their absence says nothing about the packages.
import { execFile } from 'node:child_process';
import { mkdir, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

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
}

const report = JSON.parse((await npm('audit', '--omit=dev', '--json')) || '{}') as AuditReport;
const total = report.metadata?.vulnerabilities?.['total'];
if (total === undefined) process.stdout.write('npm audit: not checked, the registry returned no advisories\n');
else {
  process.stdout.write(`npm audit: ${total} known vulnerabilities in shipped packages\n`);
  for (const [name, { severity }] of Object.entries(report.vulnerabilities ?? {})) {
    process.stdout.write(`  ${name}: ${severity}\n`);
  }
  if (total > 0) process.exitCode = 1;
}

const sbom = await npm('sbom', '--omit=dev', '--sbom-format=cyclonedx');
const { components = [] } = JSON.parse(sbom || '{}') as { components?: unknown[] };
if (components.length === 0) throw new Error('`npm sbom` listed no packages');
await mkdir(join(root, 'build'), { recursive: true });
await writeFile(join(root, 'build/sbom.cdx.json'), sbom);
process.stdout.write(`build/sbom.cdx.json: ${components.length} packages\n`);
