import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { once } from './once.ts';
import { within } from './until.ts';

/** For one page of a few bytes: seconds on the busiest machine. */
const TRIAL_LIMIT_MS = 60_000;
const PAGE = '<!doctype html><title>trial</title><p id="sum"></p><script>sum.textContent = 40 + 2;</script>';

/** What a trial needs of a browser: loads an address, and returns the value of an expression in its page. */
export type Load = (url: string, expression: string) => Promise<unknown>;

/**
 * Tries a browser before tests use it: it loads a page of a local server, whose script runs.
 * @param program its path, for the message
 * @throws {Error} with the reason and what to do
 */
export async function tryBrowser(program: string, load: Load, limitMs = TRIAL_LIMIT_MS): Promise<void> {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(PAGE);
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  try {
    const shown = await within(
      `a page of ${url}`,
      load(url, 'document.title + document.body.innerText.trim()'),
      limitMs,
    );
    if (shown !== 'trial42') throw new Error(`a page shows \`${String(shown)}\` instead of \`trial42\``);
  } catch (error) {
    throw unusable(program, error);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

/** The error for a browser that does not start, or does not show a page. */
export function unusable(program: string, cause: unknown): Error {
  const advice =
    'as root on Debian `tools/install.sh browser` and `tools/install.sh firefox` install those that the tests are developed with; ' +
    'CHROMIUM and FIREFOX name others';
  // Playwright adds all flags and its log; they remain in the cause.
  const [reason] = (cause as Error).message.split('\n');
  return new Error(`the browser \`${program}\` does not work: ${reason}\n${advice}`, { cause });
}
