import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { Ajv2020 } from 'ajv/dist/2020.js';
import formatsModule from 'ajv-formats';
import { expect } from 'vitest';
import type { AuditRecord } from '../../src/api/server/logs/audit-record.ts';
import { AuditLog, type AuditLogOptions } from '../../src/api/server/logs/audit.ts';

const SCHEMA = join(import.meta.dirname, '../../docs/audit-record.schema.json');

/** An audit log that adds its records to `records`, and checks each of them by the documented schema. */
export function validAuditLog(
  records: AuditRecord[],
  clock: AuditLogOptions['clock'],
  options: Partial<AuditLogOptions> = {},
): AuditLog {
  const ajv = new Ajv2020({ strict: false });
  formatsModule.default(ajv);
  const validate = ajv.compile(JSON.parse(readFileSync(SCHEMA, 'utf8')));
  return new AuditLog({
    clock,
    ...options,
    write(record, file) {
      const line = JSON.parse(JSON.stringify(record)) as AuditRecord;
      expect(validate(line), JSON.stringify(validate.errors)).toBe(true);
      records.push(line);
      options.write?.(line, file);
    },
  });
}
