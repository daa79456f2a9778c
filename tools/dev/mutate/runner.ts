// A process of `make mutate` that keeps Vitest and the transformed modules in memory. It is a process of its own so that a mutant that blocks can be killed.
import { readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import type { Plugin } from 'vite';
import { createVitest, type Reporter, type TestModule, type TestSpecification, type Vitest } from 'vitest/node';
import config from '../../../vitest.config.ts';
import { instrument, type Mutant } from './mutants.ts';
import type { ActiveMutant } from './setup.ts';

/** The first message. */
export interface Start {
  readonly root: string;
  /** By id, which is the index. */
  readonly mutants: readonly Mutant[];
  /** Record with this many processes at once which test files reach which mutants; without it, wait for mutants to judge. */
  readonly record?: number;
}

/** Later messages to a runner that judges. */
export interface Job {
  readonly mutant: ActiveMutant;
  /** Test files, in the order in which they run. */
  readonly files: readonly string[];
}

/** A test file that ended. */
export interface FileResult {
  readonly file: string;
  readonly ms: number;
  /** The first error of a file that failed. */
  readonly error?: string;
  readonly reached: readonly (readonly [id: number, count: number])[];
}

/** Messages from a runner. */
export type Report =
  | { readonly type: 'file'; readonly result: FileResult }
  /** @property error why the run itself failed */
  | { readonly type: 'done'; readonly error?: string };

function send(report: Report): void {
  process.send?.(report);
}

function mutate(root: string, mutants: readonly Mutant[]): Plugin {
  return {
    name: 'mutate',
    enforce: 'pre',
    transform(code, id) {
      const file = relative(root, id.split('?')[0] ?? id);
      const ids = new Map([...mutants.entries()].filter(([, mutant]) => mutant.file === file));
      if (ids.size === 0) return undefined;
      // The offsets belong to the text of the file, which another plugin may have changed.
      if (code !== readFileSync(join(root, file), 'utf8')) throw new Error(`the text of ${file} was changed`);
      return { code: instrument(code, ids), map: null };
    },
  };
}

function firstError(module: TestModule): string {
  const [failed] = module.children.allTests('failed');
  const [error] = [...(failed?.result().errors ?? []), ...module.errors()];
  return `${failed?.fullName ?? 'file'}: ${error?.message ?? 'unknown error'}`;
}

function reporter(root: string): Reporter {
  const queued = new Map<string, number>();
  return {
    onTestModuleQueued({ moduleId }: TestModule) {
      queued.set(moduleId, performance.now());
    },
    onTestModuleEnd(module: TestModule) {
      const ms = performance.now() - (queued.get(module.moduleId) ?? performance.now());
      const { reached = [] } = module.meta();
      const file = relative(root, module.moduleId);
      send({ type: 'file', result: { file, ms, reached, ...(!module.ok() && { error: firstError(module) }) } });
    },
  };
}

/** Keeps the order in which a job lists the test files. */
class Given {
  sort(files: TestSpecification[]): TestSpecification[] {
    return files;
  }
  shard(files: TestSpecification[]): TestSpecification[] {
    return files;
  }
}

async function open({ root, mutants, record }: Start): Promise<Vitest> {
  const unit = config.test?.projects?.map((project) => (project as { test: { name: string } }).test);
  const options = unit?.find(({ name }) => name === 'unit');
  if (options === undefined) throw new Error('vitest.config.ts has no project `unit`');
  const { setupFiles } = options as unknown as { setupFiles: string[] };
  return createVitest(
    {
      ...options,
      root,
      config: false,
      watch: false,
      cache: false,
      // The key of its entries does not contain the mutants.
      fsModuleCache: false,
      silent: true,
      reporters: [reporter(root)],
      setupFiles: [join(import.meta.dirname, 'setup.ts'), ...setupFiles],
      sequence: { sequencer: Given, setupFiles: 'list' },
      // What a test file reaches while it loads must count for each file.
      isolate: record !== undefined,
      maxWorkers: record ?? 1,
      bail: record === undefined ? 1 : 0,
      ...(record !== undefined && { related: [...new Set(mutants.map(({ file }) => join(root, file)))] }),
      // A mutant may allocate without end.
      execArgv: ['--max-old-space-size=1500'],
    },
    { plugins: [mutate(root, mutants)] },
  );
}

async function judge(vitest: Vitest, root: string, { mutant, files }: Job): Promise<void> {
  vitest.provide('mutant', mutant);
  const project = vitest.getRootProject();
  const { unhandledErrors } = await vitest.runTestSpecifications(
    files.map((file) => project.createSpecification(join(root, file))),
  );
  const [error] = unhandledErrors as { message?: unknown }[];
  send({ type: 'done', ...(error !== undefined && { error: `unhandled error: ${String(error.message)}` }) });
}

async function main(start: Start): Promise<void> {
  const vitest = await open(start);
  if (start.record === undefined) {
    process.on('message', (job: Job) => void judge(vitest, start.root, job));
    send({ type: 'done' });
    return;
  }
  vitest.provide('mutant', { id: -1, limit: 0 });
  await vitest.start();
  send({ type: 'done' });
  await vitest.close();
  process.disconnect();
}

process.once('message', (start: Start) => void main(start));
process.once('disconnect', () => process.exit());
