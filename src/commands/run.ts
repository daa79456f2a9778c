import { SettingsError } from '../config/keys.ts';
import { endSignals } from '../platform/lifecycle.ts';
import { ListenError } from '../api/server/server.ts';
import { nearest } from '../resources/nearest.ts';
import { StoreError } from '../store/resource-store.ts';
import type { runCheck as RunCheck } from './check.ts';
import { EXIT, type CommandContext } from '../app/context.ts';
import { COMMANDS, serviceHelp, USAGE, type CommandName } from './help.ts';
import { VERSION } from '../app/version.ts';
import { startService, type ServiceDefinition } from '../app/service.ts';

const DEFAULT_WIDTH = 100;

type Command = (context: CommandContext) => Promise<number>;

/** Each command's modules are loaded only when it runs. */
const LOAD: Readonly<Record<CommandName, () => Promise<Command>>> = {
  standalone: async () => asCommand((await import('../app/standalone.ts')).standalone),
  gateway: async () => asCommand((await import('../app/gateway.ts')).gateway),
  operator: async () => asCommand((await import('../app/operator.ts')).operator),
  check: async () => {
    const { runCheck } = await import('./check.ts');
    return (context) => checkCommand(runCheck, context);
  },
};

/**
 * Runs the command line.
 * @param args without the interpreter and the script
 * @returns the exit code
 */
export async function run(args: readonly string[], context: Omit<CommandContext, 'args'>): Promise<number> {
  const [name = '--help', ...rest] = args;
  if (name === '--help' || name === '-h' || name === 'help') {
    context.stdout(USAGE);
    return args.length === 0 ? EXIT.usage : EXIT.ok;
  }
  if (name === '--version' || name === '-v' || name === 'version') {
    context.stdout(`${VERSION}\n`);
    return EXIT.ok;
  }
  const command = COMMANDS.find((known) => known === name);
  if (command === undefined) {
    const meant = nearest(name, COMMANDS);
    context.stderr(
      `unknown command \`${name}\`; ${meant === undefined ? `the commands are ${COMMANDS.join(', ')}` : `did you mean \`${meant}\`?`}\n`,
    );
    return EXIT.usage;
  }
  if (command !== 'check' && rest.some((flag) => flag === '--help' || flag === '-h')) {
    context.stdout(serviceHelp(command));
    return EXIT.ok;
  }
  return (await LOAD[command]())({ ...context, args: rest });
}

function asCommand(definition: ServiceDefinition): Command {
  return async (context) => {
    const signals = endSignals(process, (code) => process.exit(code));
    try {
      const service = await Promise.race([startService(definition, context), signals.ended]);
      if (typeof service === 'string') return EXIT.failed;
      await signals.ended;
      await service.stop();
      return EXIT.ok;
    } catch (error) {
      return report(error, context);
    } finally {
      signals.release();
    }
  };
}

async function checkCommand(runCheck: typeof RunCheck, { args, env, stdout, stderr }: CommandContext): Promise<number> {
  const { stdout: out, stderr: err } = process;
  const signals = endSignals(process, (code) => process.exit(code));
  const interrupted = new AbortController();
  void signals.ended.then((name) => interrupted.abort(new Error(`interrupted by ${name}`)));
  try {
    return await runCheck(args, {
      stdout,
      stderr,
      env,
      stdoutIsTty: out.isTTY ?? false,
      stderrIsTty: err.isTTY ?? false,
      width: out.columns ?? DEFAULT_WIDTH,
      now: () => new Date(),
      random: Math.random,
      signal: interrupted.signal,
    });
  } finally {
    signals.release();
  }
}

/** Prints a line per problem that the user can fix, and the stack of any other error. */
function report(error: unknown, { stderr }: CommandContext): number {
  if (error instanceof SettingsError) {
    for (const problem of error.problems) stderr(`${problem}\n`);
    return EXIT.usage;
  }
  if (error instanceof ListenError || error instanceof StoreError) stderr(`${error.message}\n`);
  else stderr(`${error instanceof Error ? (error.stack ?? error.message) : String(error)}\n`);
  return EXIT.failed;
}
