// Builds or downloads the real parts for tests, with progress by part; prints nothing when they are all there.
//   node tools/dev/parts.ts                     all parts of `make test`
//   node tools/dev/parts.ts PART…               these parts
//   node tools/dev/parts.ts --for PROJECT FILTER…  the parts of the tests of `integration` or `e2e` whose path contains a filter; of all without one
//   node tools/dev/parts.ts --plan              prints what all parts of `make test` that are missing take, and builds nothing
//   node tools/dev/parts.ts --no-plan           builds them without printing it first
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { resolve } from 'node:path';
import { dockerWorks } from '../../test/support/kind/choice.ts';
import { canHoldNode } from '../../test/support/node/machine.ts';
import { ALL_TESTS, PARTS, partsOf, testsOf, withNeeds } from './part-list.ts';
import { plan } from './part-plan.ts';

const INSTALL = resolve(import.meta.dirname, '../install.sh');
/** Only the tests of a release use them, and they fail by themselves. */
const OPTIONAL: ReadonlySet<string> = new Set(['node-parts', 'coredns', 'kind']);

function say(line: string): void {
  process.stderr.write(`${line}\n`);
}

/** @returns the exit code of `tools/install.sh`; 1 when a signal ended it */
async function install(args: readonly string[], quiet: boolean): Promise<number> {
  const child = spawn(INSTALL, args, { stdio: ['ignore', 'ignore', quiet ? 'ignore' : 'inherit'] });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

function wanted([first, ...rest]: readonly string[]): string[] {
  if (first === undefined || first === '--plan' || first === '--no-plan') return withNeeds(ALL_TESTS);
  if (first !== '--for') {
    const unknown = [first, ...rest].find((part) => PARTS[part] === undefined);
    if (unknown === undefined) return withNeeds([first, ...rest]);
    throw new Error(`unknown part \`${unknown}\`; known: ${Object.keys(PARTS).join(' ')}`);
  }
  const [project, ...filters] = rest;
  if (project !== 'integration' && project !== 'e2e') throw new Error('`--for` needs `integration` or `e2e`');
  return partsOf(testsOf(project, filters));
}

/** Why this machine cannot use a part: its tests are skipped. */
function obstacleOf(part: string): string | undefined {
  if (part === 'kind') return dockerWorks() ? undefined : '`docker info` fails';
  return part === 'node-parts' || part === 'coredns' ? canHoldNode() : undefined;
}

interface Missing {
  readonly parts: readonly string[];
  /** Those that this machine cannot use, each with the reason. */
  readonly skipped: readonly string[];
}

async function missingOf(wanted: readonly string[]): Promise<Missing> {
  const parts: string[] = [];
  const skipped: string[] = [];
  for (const part of wanted) {
    if ((await install(['--is-built', part], true)) === 0) continue;
    const obstacle = obstacleOf(part);
    if (obstacle === undefined) parts.push(part);
    else skipped.push(`${part} is skipped: ${obstacle}`);
  }
  return { parts, skipped };
}

/** @returns whether every part that is not optional is there */
async function build(parts: readonly string[]): Promise<boolean> {
  let begun = 0;
  const lanes = (['compile', 'download'] as const).map(async (lane) => {
    for (const part of parts.filter((name) => PARTS[name]?.lane === lane)) {
      begun++;
      say(`part ${begun} of ${parts.length}: ${part}, about ${PARTS[part]?.minutes} min`);
      if ((await install([part], false)) === 0) continue;
      say(`failed to install ${part}; see the message above, and \`make doctor\` for what this machine lacks`);
      if (!OPTIONAL.has(part)) return false;
    }
    return true;
  });
  return (await Promise.all(lanes)).every(Boolean);
}

async function main(args: readonly string[]): Promise<number> {
  const { parts, skipped } = await missingOf(wanted(args));
  if (parts.length === 0) return 0;
  if (args[0] !== '--no-plan') say([plan(parts), ...skipped].join('\n'));
  if (args[0] === '--plan') return 0;
  return (await build(parts)) ? 0 : 1;
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  say(`error: ${(error as Error).message}`);
  process.exitCode = 1;
}
