import { chmod, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { runCommand } from './node/command.ts';
import { processesWith, Program } from './processes.ts';
import { until } from './until.ts';
import { execute as run } from './execute.ts';
import { TEST_LIMIT_MS } from './limits.ts';

const ROOT = resolve(import.meta.dirname, '../..');
/** Git, also where this repository belongs to another user, as one that a container mounts. A clone starts a second git, which does not inherit the option. */
const GIT = `git -c 'safe.directory=*'`;

/** `nobody`, who owns no file of this machine. */
const NOBODY = 65_534;
/** What a shell of a new machine has, and how it reaches the registries. No locale, and none of the variables of a surrounding `make` or vitest. */
const KEPT =
  /^(PATH|TERM|JAVA_HOME|NODE_EXTRA_CA_CERTS|SSL_CERT_(FILE|DIR)|(HTTPS?|NO|ALL)_PROXY|NPM_CONFIG_REGISTRY|GOPROXY|GOSUMDB|MAVEN_ARGS)$/i;

export interface NewMachineOptions {
  /** Of the folder with clone and home. */
  readonly name: string;
  /** Runs everything as `nobody` where this process is root. */
  readonly unprivileged?: boolean;
  readonly umask?: string;
}

/** A clone of the last commit and a user with an empty home, who has every program in the PATH and nothing of this project. */
export class NewMachine {
  readonly folder: string;
  readonly home: string;
  readonly clone: string;
  readonly #umask: string;
  /** A command prefix. */
  readonly #asUser: readonly string[];
  readonly #env: NodeJS.ProcessEnv;

  private constructor(folder: string, { name, unprivileged = false, umask = '022' }: NewMachineOptions) {
    this.folder = folder;
    this.home = join(folder, name, 'home');
    this.clone = join(folder, name, 'clone');
    const asNobody = unprivileged && process.getuid?.() === 0;
    this.#umask = umask;
    this.#asUser = asNobody ? ['setpriv', `--reuid=${NOBODY}`, `--regid=${NOBODY}`, '--clear-groups'] : [];
    this.#env = {
      ...Object.fromEntries(Object.entries(process.env).filter(([key]) => KEPT.test(key))),
      PATH: systemPath(),
      HOME: this.home,
      TMPDIR: join(folder, name, 'tmp'),
      NODE_COMPILE_CACHE: undefined,
    };
  }

  static async create(options: NewMachineOptions): Promise<NewMachine> {
    const folder = await mkdtemp(join(tmpdir(), 'olap-warden-new-machine-'));
    const machine = new NewMachine(folder, options);
    await chmod(folder, 0o755);
    await mkdir(join(folder, options.name));
    const clone = `umask ${options.umask ?? '022'} && mkdir home tmp && ${GIT} clone -q --upload-pack "${GIT} upload-pack" '${ROOT}' clone`;
    await run('bash', ['-c', clone], { cwd: join(folder, options.name) });
    await machine.#own();
    return machine;
  }

  /** Copies paths of another machine's home, such as the parts, so that they are not downloaded again. */
  async copyHome(from: NewMachine, paths: readonly string[]): Promise<void> {
    await run('cp', ['-r', '--parents', ...paths, this.home], { cwd: from.home, timeout: TEST_LIMIT_MS });
    await this.#own();
  }

  async #own(): Promise<void> {
    if (this.#asUser.length > 0) await run('chown', ['-R', `${NOBODY}:${NOBODY}`, join(this.clone, '..')]);
  }

  /** Starts a command in the clone, without a terminal. */
  start(command: readonly string[], env: NodeJS.ProcessEnv = {}): Program {
    return this.#start(command, env, false);
  }

  /** Starts a command line in a terminal, whose keys are those that the test types. */
  startInTerminal(line: string, env: NodeJS.ProcessEnv = {}): Program {
    return this.#start(['script', '--quiet', '--return', '--command', line, '/dev/null'], env, true);
  }

  #start(command: readonly string[], env: NodeJS.ProcessEnv, typed: boolean): Program {
    const args = ['-c', `umask ${this.#umask} && exec "$@"`, 'bash', ...this.#asUser, ...command];
    return new Program('bash', args, { cwd: this.clone, env: { ...this.#env, ...env }, typed });
  }

  /** Runs a line in a shell, as the user pastes it. @returns what it prints */
  async paste(line: string): Promise<string> {
    const result = await runCommand([...this.#asUser, 'sh', '-c', `cd '${this.clone}' && ${line}`], {
      env: { HOME: this.home },
    });
    if (result.code !== 0) throw new Error(`\`${line}\` ended with ${result.code}: ${result.stderr}`);
    return result.stdout;
  }

  /** Waits until nothing runs with this home. @throws {Error} that lists what runs on */
  async untilIdle(): Promise<void> {
    let lines: string[] = [];
    const idle = async () => (lines = (await processesWith(`HOME=${this.home}`)).map(({ line }) => line)).length === 0;
    await until('nothing runs on', idle, () => delay(200)).catch((error: unknown) => {
      throw new Error(`still running:\n${lines.join('\n')}`, { cause: error });
    });
  }

  /** Ends what a test that failed has left, and removes everything. */
  async remove(): Promise<void> {
    for (const { pid } of await processesWith(`HOME=${this.home}`)) {
      try {
        process.kill(pid, 'SIGKILL');
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
      }
    }
    await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** The PATH without what `make` puts before it. */
function systemPath(): string {
  const folders = (process.env['PATH'] ?? '').split(':');
  return folders.filter((folder) => !/\/olap-warden\/node-|\/node_modules\//.test(folder)).join(':');
}
