import { parseArgs } from 'node:util';
import { asError, errorMessage, plainError } from '../platform/plain-error.ts';
import { SettingsError } from '../config/keys.ts';
import { systemClock } from '../platform/clock.ts';
import { endSignals } from '../platform/lifecycle.ts';
import { ListenError } from '../api/server/server.ts';
import { nearest } from '../resources/nearest.ts';
import { StoreError } from '../store/resource-store.ts';
import { UnusableStoreError } from '../results/errors.ts';
import type { CheckContext } from '../app/check.ts';
import { EXIT, type CommandContext } from '../app/parts/context.ts';
import { startService, type ServiceDefinition } from '../app/service.ts';
import { VERSION } from '../app/parts/version.ts';
import { COMMANDS, SERVICES, serviceHelp, USAGE, type CommandName } from './help.ts';

const DEFAULT_WIDTH = 100;

type Command = (context: CommandContext) => Promise<number>;

/** Each command's modules are loaded only when it runs. */
const LOAD: Readonly<Record<CommandName, () => Promise<Command>>> = {
  standalone: async () => serviceCommand((await import('../app/standalone.ts')).standalone),
  gateway: async () => serviceCommand((await import('../app/gateway.ts')).gateway),
  operator: async () => serviceCommand((await import('../app/operator.ts')).operator),
  check: async () => interruptible((await import('./check.ts')).runCheck),
  audit: async () => interruptible((await import('./audit.ts')).runAudit),
  access: async () => interruptible((await import('./access.ts')).runAccess),
};

/**
 * Runs the command line.
 * @param args without the interpreter and the script
 * @returns the exit code
 */
export async function run(args: readonly string[], context: Omit<CommandContext, 'args'>): Promise<number> {
  const [name = 'help', ...rest] = args;
  const { help, version } = questions([name]);
  if (help || name === 'help') {
    context.stdout(USAGE);
    return args.length === 0 ? EXIT.usage : EXIT.ok;
  }
  if (version || name === 'version') {
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
  // The others parse all of their arguments.
  if (SERVICES.has(command) && questions(rest).help) {
    context.stdout(serviceHelp(command));
    return EXIT.ok;
  }
  return (await LOAD[command]())({ ...context, args: rest });
}

/** Whether the arguments contain the flag for the help or for the version. All others are ignored here. */
function questions(args: readonly string[]): { help: boolean; version: boolean } {
  const { values } = parseArgs({
    args: [...args],
    options: { help: { type: 'boolean', short: 'h' }, version: { type: 'boolean', short: 'v' } },
    strict: false,
    allowPositionals: true,
  });
  return { help: values.help !== undefined, version: values.version !== undefined };
}

/** A command that serves until a termination signal. */
function serviceCommand(definition: ServiceDefinition): Command {
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

/** A command that ends by itself; a termination signal aborts it. */
function interruptible(command: (context: CheckContext) => Promise<number>): Command {
  return async (context) => {
    const { stdout, stderr } = process;
    const signals = endSignals(process, (code) => process.exit(code));
    const interrupted = new AbortController();
    void signals.ended.then((name) => interrupted.abort(new Error(`interrupted by ${name}`)));
    try {
      return await command({
        ...context,
        stdoutIsTty: stdout.isTTY ?? false,
        stderrIsTty: stderr.isTTY ?? false,
        // At each use: the terminal can be resized during the run.
        get width() {
          return stdout.columns ?? stderr.columns ?? DEFAULT_WIDTH;
        },
        clock: systemClock,
        signal: interrupted.signal,
      });
    } catch (error) {
      return report(error, context);
    } finally {
      signals.release();
    }
  };
}

/** Prints one line for each problem that the user can fix, and the stack of any other error. */
function report(thrown: unknown, { stderr }: Pick<CommandContext, 'stderr'>): number {
  const error = asError(thrown);
  if (error instanceof SettingsError) {
    for (const problem of error.problems) stderr(`${problem}\n`);
    return EXIT.usage;
  }
  if (error instanceof ListenError || error instanceof StoreError || error instanceof UnusableStoreError)
    stderr(`${error.message}\n`);
  else stderr(`${plainError(error).stack ?? errorMessage(error)}\n`);
  return EXIT.failed;
}
