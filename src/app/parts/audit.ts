import { basename, dirname, extname, join } from 'node:path';
import { Counter, Gauge, type Registry } from 'prom-client';
import type { Directory } from '../../access/directory.ts';
import { responsibleFor } from '../../access/token-owner.ts';
import { SYSTEM_ADMIN } from '../../access/policy/predefined.ts';
import { AuditFile } from '../../api/server/logs/audit-file.ts';
import { AUDIT_FILES, type AuditFileKind } from '../../api/server/logs/audit-shares.ts';
import { AuditLog } from '../../api/server/logs/audit.ts';
import { systemClock } from '../../platform/clock.ts';
import { runPeriodically } from '../../platform/periodic.ts';
import type { ResourceStore } from '../../store/resource-store.ts';
import type { Boot } from './boot.ts';

const BYTES_PER_MB = 1024 * 1024;
/** Time between attempts to write the records that wait. */
const RETRY_MS = 2_000;

type Files = ReadonlyMap<AuditFileKind, AuditFile>;

/** The audit log: in the log of the process, and in files where they are set. @throws {Error} when a file cannot be opened */
export function openAuditLog(
  boot: Boot,
  directory: Pick<Directory, 'rolesOf'>,
  store: Pick<ResourceStore, 'get'>,
): AuditLog {
  const { settings, log, registry, closers } = boot;
  const metrics = auditMetrics(registry);
  const files = openAuditFiles(boot, metrics);
  const problem = (): string | undefined => [...files.values()].map((file) => file.problem()).find(Boolean);
  const audit = new AuditLog({
    clock: systemClock,
    hasFile: files.size > 0,
    required: settings['audit-required'],
    problem: () => (settings['audit-required'] ? problem() : undefined),
    bytesOfFile: settings['audit-file-max-mb'] * BYTES_PER_MB * (settings['audit-file-count'] + 1),
    isAdministrator: (principal) => directory.rolesOf(principal).includes(SYSTEM_ADMIN),
    responsibleFor: (caller) => responsibleFor(store, caller),
    onLeftOut: metrics.onLeftOut,
    write(record, kind) {
      const file = files.get(kind);
      const placed = file === undefined ? record : file.append(record);
      log.info({ audit: placed }, 'audit');
      if (file !== undefined) metrics.onWritten(kind, file.sequence);
    },
  });
  closers.defer('audit log', () => audit.close());
  return audit;
}

/** The files of the setting; none without it. @throws {Error} when one cannot be opened */
function openAuditFiles({ settings, log, closers }: Boot, { onFailed }: AuditMetrics): Files {
  const first = settings['audit-file'];
  const files = new Map<AuditFileKind, AuditFile>();
  if (first === undefined) return files;
  for (const kind of AUDIT_FILES) {
    const path = auditPath(first, kind);
    const onError = (error: unknown): void => log.error({ err: error, path }, 'failed to write to the audit file');
    const file = new AuditFile({
      path,
      maxBytes: settings['audit-file-max-mb'] * BYTES_PER_MB,
      maxFiles: settings['audit-file-count'],
      now: () => systemClock.now(),
      onFailed,
      onError,
      onIncomplete: (bytes) => log.warn({ path, bytes }, 'the last record of the audit file is incomplete'),
      onRecovered: (missing) => log.warn({ path, missing }, 'the audit file can be written again'),
    });
    files.set(kind, file);
    closers.defer('audit file', () => file.close());
    closers.defer(
      'retries of the audit file',
      runPeriodically(async () => file.retry(), { clock: systemClock, intervalMs: RETRY_MS, onError }),
    );
  }
  return files;
}

/** `audit.jsonl`: `audit.access.jsonl` for changes of access. */
export function auditPath(path: string, kind: AuditFileKind): string {
  if (kind === 'calls') return path;
  const extension = extname(path);
  return join(dirname(path), `${basename(path, extension)}.${kind}${extension}`);
}

interface AuditMetrics {
  readonly onFailed: () => void;
  readonly onLeftOut: () => void;
  readonly onWritten: (file: AuditFileKind, sequence: number) => void;
}

/** The metrics of records that could not be written, of those that were left out, and of the last ones. */
export function auditMetrics(registry: Registry): AuditMetrics {
  const failures = new Counter({
    name: 'olap_warden_audit_failures_total',
    help: 'Audit records that could not be written to the audit file when they were made.',
    registers: [registry],
  });
  const leftOut = new Counter({
    name: 'olap_warden_audit_left_out_total',
    help: 'Audit records that were left out, because they would exceed the share of their caller.',
    registers: [registry],
  });
  const sequence = new Gauge({
    name: 'olap_warden_audit_sequence',
    help: 'Number of the last record of this process, by audit file.',
    labelNames: ['file'],
    registers: [registry],
  });
  return {
    onFailed: () => failures.inc(),
    onLeftOut: () => leftOut.inc(),
    onWritten: (file, number) => sequence.set({ file }, number),
  };
}
