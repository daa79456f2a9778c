import { parseArgs } from 'node:util';
import { verifyAudit, VERIFY_EXIT } from '../app/audit-verify.ts';
import type { CheckContext } from '../app/check.ts';
import { errorMessage } from '../platform/plain-error.ts';

/** Help of `olap-warden audit`. */
export const AUDIT_USAGE = `Usage: olap-warden audit verify FILE...

Verifies the chain of the records in audit files: says which records are missing, changed or cut.
Each FILE is read with its rotated files, FILE.1 and so on.

Options:
  -h, --help                   print this help

Exit code: 0 all records are there; 1 a record is missing, changed or cut; 2 a file cannot be read, or usage error.
`;

/** Runs `olap-warden audit`. @returns the exit code */
export async function runAudit(context: Pick<CheckContext, 'args' | 'stdout' | 'stderr' | 'signal'>): Promise<number> {
  try {
    const files = parseAudit(context.args);
    if (files !== 'help') return await verifyAudit(files, context, context.signal);
    context.stdout(AUDIT_USAGE);
    return VERIFY_EXIT.complete;
  } catch (error) {
    const [usage] = AUDIT_USAGE.split('\n');
    context.stderr(`error: ${errorMessage(error)}\n\n${usage}\n`);
    return VERIFY_EXIT.error;
  }
}

/** @returns the files, or `help` for `--help` @throws {Error} usage error */
function parseAudit(args: readonly string[]): readonly string[] | 'help' {
  const { values, positionals } = parseArgs({
    args: [...args],
    strict: true,
    allowPositionals: true,
    options: { help: { type: 'boolean', short: 'h' } },
  });
  if (values.help === true) return 'help';
  const [name, ...files] = positionals;
  if (name !== 'verify') throw new Error(name === undefined ? 'missing `verify`' : `unknown command \`audit ${name}\``);
  if (files.length === 0) throw new Error('missing FILE, such as `audit.jsonl`');
  return files;
}
