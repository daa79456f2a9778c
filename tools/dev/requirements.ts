// The first step of `make run`: checks its variables and requirements before npm packages are installed, so it uses none.
import { resolve } from 'node:path';
import { requireAll } from './run-requirements.ts';
import { readSettings, UsageError } from './run-settings.ts';

try {
  await requireAll(readSettings(process.env, resolve(import.meta.dirname, '../..')));
} catch (error) {
  if (!(error instanceof UsageError)) throw error;
  process.stderr.write(`error: ${error.message}\n`);
  process.exitCode = 1;
}
