import { ACCESS_EXIT } from '../app/access-plan.ts';
import type { CheckContext } from '../app/check.ts';
import { errorMessage } from '../platform/plain-error.ts';
import { nearest } from '../resources/nearest.ts';
import { LINT } from './access-lint.ts';
import { PLAN } from './access-plan.ts';
import { TEST } from './access-test.ts';
import type { Subcommand } from './subcommand.ts';

/** The commands after `access`, by name. */
export const ACCESS_COMMANDS: ReadonlyMap<string, Subcommand> = new Map([
  ['lint', LINT],
  ['plan', PLAN],
  ['test', TEST],
]);

/** Help of `olap-warden access`. */
export const ACCESS_USAGE = `Usage: olap-warden access <command> [options]

Works on roles, policies and assignments in Git, without a server.

Commands:
  lint              Finds statements of policies that never match, never decide or contradict
  plan              Prints who gains and who loses what by a change
  test              Asks questions of AccessTest files and compares the answers

  olap-warden access <command> --help   the options of a command
`;

/** Runs `olap-warden access`. @returns the exit code */
export async function runAccess(context: CheckContext): Promise<number> {
  const [name, ...args] = context.args;
  if (name === '--help' || name === '-h') {
    context.stdout(ACCESS_USAGE);
    return ACCESS_EXIT.pass;
  }
  const command = ACCESS_COMMANDS.get(name ?? '');
  if (command === undefined) {
    const meant = name === undefined ? undefined : nearest(name, [...ACCESS_COMMANDS.keys()]);
    const problem = name === undefined ? 'missing a command' : `unknown command \`access ${name}\``;
    const hint = meant === undefined ? '' : `; did you mean \`${meant}\`?`;
    context.stderr(`error: ${problem}${hint}\n\n${ACCESS_USAGE}`);
    return ACCESS_EXIT.error;
  }
  try {
    const code = await command.run({ ...context, args });
    if (code !== 'help') return code;
    context.stdout(command.usage);
    return ACCESS_EXIT.pass;
  } catch (error) {
    context.stderr(`error: ${errorMessage(error)}\n\n\`olap-warden access ${name} --help\` lists all options.\n`);
    return ACCESS_EXIT.error;
  }
}
