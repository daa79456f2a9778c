import './platform/fetch.ts';
import { run } from './commands/run.ts';

const write = (stream: NodeJS.WriteStream) => (text: string) => void stream.write(text);

process.exitCode = await run(process.argv.slice(2), {
  env: process.env,
  stdout: write(process.stdout),
  stderr: write(process.stderr),
});
