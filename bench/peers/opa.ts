import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import {
  completeSrn,
  parseSrnPattern,
  type Deployment,
  type Srn,
  type SrnPatternLevel,
} from '../../src/access/policy/srn.ts';
import type { PolicySpec, Statement } from '../../src/resources/policy.ts';
import { installed } from '../../tools/pinot/jvm.ts';
import { median } from '../frame/measure.ts';
import { MAX_DEPTH, placements } from './placements.ts';

const RUN_LIMIT_MS = 180_000;

/** The action, and the levels of the resource counted from its last one: `kind0` and `id0` are the last level. */
export type OpaInput = Readonly<Record<string, string>>;

export interface OpaQuestion {
  /** Index of the set of policies. */
  readonly set: number;
  readonly input: OpaInput;
}

export interface OpaFigures {
  /** CPU of all threads for all questions, median of the rounds. */
  readonly cpuMs: number;
  readonly answers: readonly boolean[];
  readonly version: string;
}

export function opaInput(action: string, resource: Srn, deployment: Deployment): OpaInput {
  const input: Record<string, string> = { action: action.toLowerCase() };
  for (const [index, level] of completeSrn(resource, deployment).toReversed().entries()) {
    input[`kind${index}`] = level.kind;
    input[`id${index}`] = level.id;
  }
  return input;
}

/** The policies as a Rego module whose `allow` is the decision. */
export function toRego(name: string, specs: readonly PolicySpec[]): string {
  const rules = specs.flatMap(({ statements }) => statements).flatMap(rulesOf);
  const heads = ['default permit := false', 'default forbid := false', 'default allow := false'];
  return [`package ${name}`, ...heads, 'allow if { permit; not forbid }', ...rules].join('\n');
}

/**
 * Asks OPA's evaluator in its own language (tools/opa), with a prepared query for each set: there is no process between the question and the decision.
 * @param sets the policies of each set
 * @throws {Error} if OPA rejects a module, or fails
 */
export async function measureOpa(
  sets: readonly (readonly PolicySpec[])[],
  questions: readonly OpaQuestion[],
  { warmup, rounds }: { readonly warmup: number; readonly rounds: number },
): Promise<OpaFigures> {
  const program = join(await installed('opa'), 'opa-peer');
  const packages = sets.map((_, index) => `p${index}`);
  const modules = sets.map((specs, index) => toRego(`p${index}`, specs));
  const child = spawn(program, [], { stdio: ['pipe', 'pipe', 'pipe'], timeout: RUN_LIMIT_MS });
  const exited = once(child, 'exit') as Promise<[number | null]>;
  child.stdin.on('error', () => undefined); // what ended the program is in its standard error
  child.stdin.end(JSON.stringify({ modules, packages, questions, warmup, rounds }));
  const [output, errors] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
  const [code] = await exited;
  if (code !== 0) throw new Error(`OPA ended with ${code}: ${errors.trim().split('\n').at(-1) ?? ''}`);
  const { cpuNs, answers, version } = JSON.parse(output) as {
    readonly cpuNs: readonly number[];
    readonly answers: readonly boolean[];
    readonly version: string;
  };
  return { cpuMs: median(cpuNs) / 1e6, answers, version };
}

function rulesOf(statement: Statement): string[] {
  const head = statement.effect === 'allow' ? 'permit' : 'forbid';
  const actions = (statement.actions ?? ['*']).map((action) => textCondition('input.action', action.toLowerCase()));
  const resources = statement.resources.flatMap(resourceConditions);
  return actions.flatMap((action) =>
    resources.map((resource) => `${head} if { ${[action, ...resource].filter((one) => one !== '').join('; ')} }`),
  );
}

/** Alternatives of conditions that all hold: the last level of the pattern matches the last one, and the others occur before it in order. */
function resourceConditions(text: string): string[][] {
  const pattern = parseSrnPattern(text);
  if (!pattern.ok) throw new Error(pattern.message);
  const { levels } = pattern.value;
  const last = levels.at(-1);
  if (last === undefined) return [[]];
  return placements(levels.length - 1, MAX_DEPTH, 1).map((places) =>
    [...levels.slice(0, -1).toReversed(), last].flatMap((level, index) =>
      levelConditions(level, index === levels.length - 1 ? 0 : (places[index] as number)),
    ),
  );
}

function levelConditions({ kind, id }: SrnPatternLevel, place: number): string[] {
  return [textCondition(`input.kind${place}`, kind.source), textCondition(`input.id${place}`, id.source)];
}

/**
 * A condition of plain comparisons where they suffice: OPA finds the rules by them, and keeps only a hundred compiled globs. A level that the resource does not
 * have is undefined, and no condition on it holds.
 */
function textCondition(name: string, pattern: string): string {
  const pieces = pattern.split('*');
  const [first = '', second = ''] = pieces;
  if (pieces.length === 1) return `${name} == ${quoted(pattern)}`;
  if (pieces.length > 2) return `glob.match(${quoted(escaped(pattern))}, null, ${name})`;
  const conditions = [
    ...(first === '' ? [] : [`startswith(${name}, ${quoted(first)})`]),
    ...(second === '' ? [] : [`endswith(${name}, ${quoted(second)})`]),
    ...(first === '' || second === '' ? [] : [`count(${name}) >= count(${quoted(first + second)})`]),
  ];
  return conditions.length === 0 ? name : conditions.join('; ');
}

const quoted = (text: string): string => JSON.stringify(text);
const escaped = (pattern: string): string => pattern.replaceAll(/[?[\]{}\\,]/g, String.raw`\$&`);
