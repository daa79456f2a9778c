import { Counter, type Registry } from 'prom-client';
import { AuditFile } from '../../api/server/logs/audit-file.ts';
import { AuditLog } from '../../api/server/logs/audit.ts';
import { systemClock } from '../../platform/clock.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import type { Boot } from './boot.ts';

const BYTES_PER_MB = 1024 * 1024;
/** Time between attempts to write the records that wait. */
const RETRY_MS = 2_000;

/** The audit log: in the log of the process, and in a file where one is set. @throws {Error} when the file cannot be opened */
export function openAuditLog(boot: Boot): AuditLog {
  const { settings, log, closers } = boot;
  const file = openAuditFile(boot);
  const audit = new AuditLog({
    clock: systemClock,
    problem: () => (settings['audit-required'] ? file?.problem() : undefined),
    write(record) {
      log.info({ audit: record }, 'audit');
      file?.append(record);
    },
  });
  closers.defer('audit log', () => audit.close());
  return audit;
}

/** The file of the setting; undefined for none. @throws {Error} when it cannot be opened */
function openAuditFile({ settings, log, registry, closers }: Boot): AuditFile | undefined {
  const onFailed = countAuditFailures(registry);
  const path = settings['audit-file'];
  if (path === undefined) return undefined;
  const onError = (error: unknown): void => log.error({ err: error, path }, 'failed to write to the audit file');
  const file = new AuditFile({
    path,
    maxBytes: settings['audit-file-max-mb'] * BYTES_PER_MB,
    maxFiles: settings['audit-file-count'],
    onFailed,
    onError,
    onRecovered: (missing) => log.warn({ path, missing }, 'the audit file can be written again'),
  });
  closers.defer('audit file', () => file.close());
  const retry = async (): Promise<void> => file.retry();
  closers.defer(
    'retries of the audit file',
    runPeriodically(retry, { clock: systemClock, intervalMs: RETRY_MS, onError }),
  );
  return file;
}

/** The metric of records that could not be written. @returns counts one */
export function countAuditFailures(registry: Registry): () => void {
  const counter = new Counter({
    name: 'olap_warden_audit_failures_total',
    help: 'Audit records that could not be written to the audit file when they were made.',
    registers: [registry],
  });
  return () => counter.inc();
}
