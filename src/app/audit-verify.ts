import { createReadStream } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { AuditVerifier, type AuditProblem } from '../api/server/logs/audit-verify.ts';
import type { CommandContext } from './parts/context.ts';

/** Exit codes of `olap-warden audit verify`. */
export const VERIFY_EXIT = { complete: 0, incomplete: 1, error: 2 } as const;

const LINE_BREAK = 0x0a;
const MAX_LINE_BYTES = 16 * 1024 * 1024;
const MAX_LISTED = 100;

/**
 * Verifies audit files, each with its rotated files, and prints what is missing, changed or cut.
 * @returns the exit code
 * @throws {Error} when a file cannot be read
 */
export async function verifyAudit(
  paths: readonly string[],
  { stdout }: Pick<CommandContext, 'stdout'>,
  signal: AbortSignal,
): Promise<number> {
  let code: number = VERIFY_EXIT.complete;
  for (const path of paths) {
    const files = [...(await rotatedFiles(path)), path];
    const verifier = new AuditVerifier(files.length > 1);
    for (const file of files) {
      let number = 0;
      for await (const line of linesOf(file, signal)) verifier.add(line, `${file}:${++number}`);
    }
    verifier.end();
    const { problems, notes, records, last } = verifier;
    for (const { place, message } of listed(notes)) stdout(`${place}: note: ${message}\n`);
    for (const { place, message } of listed(problems)) stdout(`${place}: ${message}\n`);
    const found = problems.length === 0 ? 'complete' : `${problems.length} problems`;
    stdout(`${path}: ${records} records of ${last.size} processes in ${files.length} files: ${found}\n`);
    const [writer, end] = [...last].at(-1) ?? [];
    if (end !== undefined) stdout(`${path}: last record ${end.sequence} of writer ${writer}, SHA-256 ${end.hash}\n`);
    if (problems.length > 0) code = VERIFY_EXIT.incomplete;
  }
  return code;
}

function listed(problems: readonly AuditProblem[]): readonly AuditProblem[] {
  const more = problems.length - MAX_LISTED;
  const rest = { place: problems[MAX_LISTED]?.place ?? '', message: `and ${more} more` };
  return more > 0 ? [...problems.slice(0, MAX_LISTED), rest] : problems;
}

/** `<path>.<number>`, the oldest first. */
async function rotatedFiles(path: string): Promise<string[]> {
  const prefix = `${basename(path)}.`;
  const numbers = (await readdir(dirname(path)))
    .filter((name) => name.startsWith(prefix) && /^[1-9]\d{0,6}$/.test(name.slice(prefix.length)))
    .map((name) => Number(name.slice(prefix.length)));
  return numbers.sort((a, b) => b - a).map((number) => join(dirname(path), `${prefix}${number}`));
}

/** The lines of a file as bytes, the last one also without a line break. */
async function* linesOf(path: string, signal: AbortSignal): AsyncGenerator<Buffer> {
  let rest: Buffer[] = [];
  let length = 0;
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) {
    let from = 0;
    for (let end = chunk.indexOf(LINE_BREAK); end >= 0; end = chunk.indexOf(LINE_BREAK, from)) {
      yield Buffer.concat([...rest, chunk.subarray(from, end)]);
      [rest, length, from] = [[], 0, end + 1];
    }
    rest.push(chunk.subarray(from));
    length += chunk.length - from;
    if (length > MAX_LINE_BYTES) throw new Error(`${path} has a line of more than ${MAX_LINE_BYTES} bytes`);
  }
  if (length > 0) yield Buffer.concat(rest);
}
