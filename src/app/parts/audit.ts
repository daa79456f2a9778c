import { AuditFile } from '../../api/server/logs/audit-file.ts';
import { AuditLog } from '../../api/server/logs/audit.ts';
import { systemClock } from '../../platform/clock.ts';
import type { Boot } from './boot.ts';

const BYTES_PER_MB = 1024 * 1024;

/** The audit log: in the log of the process, and in a file where one is set. @throws {Error} when the file cannot be opened */
export function openAuditLog({ settings, log, closers }: Boot): AuditLog {
  const path = settings['audit-file'];
  const file =
    path === undefined
      ? undefined
      : new AuditFile({
          path,
          maxBytes: settings['audit-file-max-mb'] * BYTES_PER_MB,
          maxFiles: settings['audit-file-count'],
          onError: (error) => log.error({ err: error, path }, 'failed to write to the audit file'),
        });
  closers.defer('audit file', () => file?.close());
  const audit = new AuditLog({
    clock: systemClock,
    write(record) {
      log.info({ audit: record }, 'audit');
      file?.append(record);
    },
  });
  closers.defer('audit log', () => audit.close());
  return audit;
}
