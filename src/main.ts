import { fetchThroughProxies } from './platform/fetch.ts';
import { SERVICES } from './commands/help.ts';
import { run } from './commands/run.ts';
import { errorCode, errorMessage } from './platform/plain-error.ts';
import { prepareProxies } from './platform/proxies.ts';
import { withErrorListener } from './platform/stream-errors.ts';

const args = process.argv.slice(2);
const isService = SERVICES.has(args[0] ?? '');

// Without a listener, the signal makes Node accept debuggers, which can do anything that the process may.
process.on('SIGUSR1', () => undefined);
// Output that cannot be written does not end a service, and gives a report no stack trace. A reader such as `head` may end before the report.
withErrorListener(process.stderr);
process.stdout.on('error', (error) => {
  if (isService || errorCode(error) === 'EPIPE') return;
  process.stderr.write(`cannot write to standard output: ${errorMessage(error)}\n`);
  process.exit(2);
});

const problem = prepareProxies(process.env);
if (problem !== undefined) {
  process.stderr.write(`${problem}\n`);
  process.exit(2);
}
fetchThroughProxies();

const write = (stream: NodeJS.WriteStream) => (text: string) => void stream.write(text);

process.exitCode = await run(args, {
  env: process.env,
  stdout: write(process.stdout),
  stderr: write(process.stderr),
});
// Standard error whose reader stands still keeps no service from its end. A report is written to its end.
if (isService) process.exit();
