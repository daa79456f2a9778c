import { AuditLine } from '../../src/api/server/logs/audit-record.ts';
import type { GeneratedFiles } from './generator.ts';

/** Generates docs/audit-record.schema.json, the JSON Schema of an audit record. */
export function generateAuditSchema(): GeneratedFiles {
  const schema = { $schema: 'https://json-schema.org/draft/2020-12/schema', ...AuditLine };
  return new Map([['docs/audit-record.schema.json', `${JSON.stringify(schema, undefined, 2)}\n`]]);
}
