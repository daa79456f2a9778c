import { spawn, type ChildProcess } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { installed } from '../../tools/pinot/jvm.ts';
import { WAIT_LIMIT_MS } from './limits.ts';
import { tryBrowser, unusable } from './try-browser.ts';
import { within } from './until.ts';

/** No requests to the vendor, and no questions. */
const PREFERENCES = {
  'app.update.enabled': false,
  'browser.shell.checkDefaultBrowser': false,
  'browser.startup.homepage': 'about:blank',
  'datareporting.policy.dataSubmissionEnabled': false,
  'network.captive-portal-service.enabled': false,
  'network.connectivity-service.enabled': false,
  'services.settings.server': 'data:,',
  'toolkit.telemetry.enabled': false,
};

interface Answer {
  readonly id?: number;
  readonly type?: string;
  readonly message?: string;
  readonly result?: Record<string, unknown>;
}

interface Value {
  readonly type: string;
  readonly value?: unknown;
  readonly sharedId?: string;
}

type Action = Readonly<Record<string, unknown>>;

/** A page in a headless Firefox, controlled by WebDriver BiDi, which Firefox serves itself. Debian has no driver program for it. */
export class FirefoxPage {
  readonly #process: ChildProcess;
  readonly #profile: string;
  readonly #socket: WebSocket;
  readonly #waiting = new Map<number, (answer: Answer) => void>();
  #sent = 0;
  #context = '';

  private constructor(program: ChildProcess, profile: string, socket: WebSocket) {
    this.#process = program;
    this.#profile = profile;
    this.#socket = socket;
    socket.addEventListener('message', ({ data }) => {
      const answer = JSON.parse(String(data)) as Answer;
      if (answer.id !== undefined) this.#waiting.get(answer.id)?.(answer);
    });
  }

  /** A page that has been tried. @throws {Error} with the reason if Firefox does not work */
  static async start(): Promise<FirefoxPage> {
    const program = await installed('firefox');
    const profile = await mkdtemp(join(tmpdir(), 'olap-warden-firefox-'));
    const lines = Object.entries(PREFERENCES).map(([name, value]) => `user_pref("${name}", ${JSON.stringify(value)});`);
    await writeFile(join(profile, 'user.js'), lines.join('\n'));
    const options = ['--headless', '--no-remote', '--remote-debugging-port', '0', '--profile', profile];
    const child = spawn(program, options, {
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { ...process.env, HOME: profile },
    });
    // Without a program its output ends, which is the reason that addressOf() gives.
    child.on('error', () => undefined);
    try {
      const connected = FirefoxPage.#connect(child, profile);
      const page = await connected.catch((error: unknown) => Promise.reject(unusable(program, error)));
      await tryBrowser(program, async (url, expression) => {
        await page.goto(url);
        return page.evaluate(expression);
      });
      return page;
    } catch (error) {
      await end(child, profile);
      throw error;
    }
  }

  static async #connect(child: ChildProcess, profile: string): Promise<FirefoxPage> {
    const socket = new WebSocket(`${await within('the address of Firefox', addressOf(child))}/session`);
    const opened = new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve(), { once: true });
      socket.addEventListener('error', () => reject(new Error('cannot connect to Firefox')), { once: true });
    });
    await within('a connection to Firefox', opened);
    const page = new FirefoxPage(child, profile, socket);
    await page.#send('session.new', { capabilities: {} });
    const { contexts } = (await page.#send('browsingContext.getTree', {})) as { contexts: { context: string }[] };
    page.#context = contexts[0]?.context ?? '';
    await page.#send('browsingContext.setViewport', {
      context: page.#context,
      viewport: { width: 1280, height: 860 },
    });
    return page;
  }

  async close(): Promise<void> {
    this.#socket.close();
    await end(this.#process, this.#profile);
  }

  async goto(url: string): Promise<void> {
    await this.#send('browsingContext.navigate', { context: this.#context, url, wait: 'complete' });
  }

  /** The value of an expression of the page: a text, number, boolean or null. */
  async evaluate(expression: string): Promise<unknown> {
    return (await this.#evaluate(expression)).value;
  }

  /** Waits until the expression is truthy. @throws {Error} with the text of the page */
  async until(expression: string): Promise<void> {
    for (const deadline = Date.now() + WAIT_LIMIT_MS; Date.now() < deadline;) {
      if ((await this.evaluate(`!!(${expression})`)) === true) return;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    throw new Error(`not true in Firefox: ${expression}\n${String(await this.evaluate('document.body.innerText'))}`);
  }

  /** Presses the element with the pointer as soon as it exists. @param element an expression of the page */
  async click(element: string): Promise<void> {
    await this.until(element);
    const { sharedId } = await this.#evaluate(
      `(() => { const e = ${element}; e.scrollIntoView({ block: 'center' }); return e; })()`,
    );
    const origin = { type: 'element', element: { sharedId } };
    await this.#perform('pointer', [
      { type: 'pointerMove', x: 0, y: 0, origin },
      { type: 'pointerDown', button: 0 },
      { type: 'pointerUp', button: 0 },
    ]);
  }

  /** Types with key events, as a keyboard does. */
  async type(text: string): Promise<void> {
    const keys = Array.from(text, (value) => [
      { type: 'keyDown', value },
      { type: 'keyUp', value },
    ]);
    await this.#perform('key', keys.flat());
  }

  /** Presses a key while another is held. */
  async chord(held: string, key: string): Promise<void> {
    await this.#perform('key', [
      { type: 'keyDown', value: held },
      { type: 'keyDown', value: key },
      { type: 'keyUp', value: key },
      { type: 'keyUp', value: held },
    ]);
  }

  #perform(type: 'key' | 'pointer', actions: readonly Action[]): Promise<unknown> {
    return this.#send('input.performActions', { context: this.#context, actions: [{ type, id: type, actions }] });
  }

  async #evaluate(expression: string): Promise<Value> {
    const answer = (await this.#send('script.evaluate', {
      expression,
      target: { context: this.#context },
      awaitPromise: true,
    })) as { type: string; result: Value; exceptionDetails?: { text: string } };
    if (answer.type === 'success') return answer.result;
    throw new Error(`${answer.exceptionDetails?.text ?? 'exception'} in: ${expression}`);
  }

  async #send(method: string, params: object): Promise<Record<string, unknown>> {
    const id = ++this.#sent;
    const answered = new Promise<Answer>((resolve) => this.#waiting.set(id, resolve));
    this.#socket.send(JSON.stringify({ id, method, params }));
    const answer = await within(`an answer of Firefox to ${method}`, answered);
    this.#waiting.delete(id);
    if (answer.type === 'success') return answer.result ?? {};
    throw new Error(`${method}: ${answer.message ?? 'failed'}`);
  }
}

/** Ends Firefox and removes its profile. */
async function end(child: ChildProcess, profile: string): Promise<void> {
  if (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await within('the end of Firefox', ended);
  }
  await rm(profile, { recursive: true, force: true, maxRetries: 5 });
}

/** The address that Firefox writes when it is ready. */
async function addressOf(child: ChildProcess): Promise<string> {
  if (!child.stderr) throw new Error('no output of Firefox');
  for await (const line of createInterface(child.stderr)) {
    const address = /WebDriver BiDi listening on (ws:\/\/\S+)/.exec(line)?.[1];
    if (address !== undefined) {
      // The pipe must not fill.
      child.stderr.resume();
      return address;
    }
  }
  throw new Error('Firefox ended before it was ready');
}
