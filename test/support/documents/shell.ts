import { chmod, mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runCommand, type CommandResult } from '../node/command.ts';
import { TEST_LIMIT_MS } from '../limits.ts';

export interface ShellOptions {
  /** Of the commands; the folder of the shell by default. */
  readonly cwd?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What stands for a place of the documents, such as `http://gateway:8080`; longer texts first. */
  readonly places?: Readonly<Record<string, string>>;
  /** Programs that the commands call: name, and a script of the shell that gets their arguments. */
  readonly programs?: Readonly<Record<string, string>>;
}

/** The program `curl`, for which the answer of an error is a failure, also where the document does not say so. */
export const FAILING_CURL =
  'PATH="${PATH#*:}"; [[ " $*" = *" -f"* || " $*" = *" --fail"* ]] || set -- --fail-with-body "$@"; exec curl "$@"';

/** Runs commands of the documentation in bash, as a reader pastes them. */
export class DocumentShell {
  /** An empty folder of its own. */
  readonly folder: string;
  readonly #options: ShellOptions;

  private constructor(folder: string, options: ShellOptions) {
    this.folder = folder;
    this.#options = options;
  }

  static async create(options: ShellOptions): Promise<DocumentShell> {
    const shell = new DocumentShell(await mkdtemp(join(tmpdir(), 'olap-warden-shell-')), options);
    await mkdir(join(shell.folder, '.programs'));
    for (const [name, script] of Object.entries(options.programs ?? {})) {
      const file = join(shell.folder, '.programs', name);
      await writeFile(file, `#!/bin/bash\n${script}\n`);
      await chmod(file, 0o755);
    }
    return shell;
  }

  /** The commands with the places of the test. */
  placed(commands: string): string {
    return Object.entries(this.#options.places ?? {}).reduce((text, [from, to]) => text.replaceAll(from, to), commands);
  }

  /** Runs a text to its end. The first command that fails ends it. A failure is a result. */
  async run(commands: string, env: Readonly<Record<string, string>> = {}): Promise<CommandResult> {
    const path = `${join(this.folder, '.programs')}:${process.env['PATH'] ?? ''}`;
    const script = `set -euo pipefail\ncd '${this.#options.cwd ?? this.folder}'\n${this.placed(commands)}\n`;
    return runCommand(['bash', '-c', script], {
      env: { ...this.#options.env, ...env, PATH: path, HOME: this.folder },
      timeoutMs: TEST_LIMIT_MS,
    });
  }

  async remove(): Promise<void> {
    await rm(this.folder, { recursive: true, force: true });
  }
}
