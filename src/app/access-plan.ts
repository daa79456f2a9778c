import { systemClock, type WallClock } from '../platform/clock.ts';
import { planOf } from '../access/plan/plan.ts';
import { renderJson, renderMarkdown, renderText } from '../access/plan/render.ts';
import { reportOf, type AccessReport } from '../access/plan/report.ts';
import { YamlReader } from '../store/manifests/yaml-documents.ts';
import type { CommandContext } from './parts/context.ts';
import { placeIn, readSide, type AccessSource } from './parts/access-sides.ts';

export const PLAN_FORMATS = ['text', 'markdown', 'json'] as const;
export type PlanFormat = (typeof PLAN_FORMATS)[number];
export const PLAN_FAILURES = ['none', 'gain', 'admin'] as const;
export type PlanFailure = (typeof PLAN_FAILURES)[number];

/** Exit codes of the `access` commands. */
export const ACCESS_EXIT = { pass: 0, fail: 1, error: 2 } as const;

/** The arguments of `access plan`. */
export interface PlanRequest {
  readonly after: AccessSource;
  readonly before: AccessSource;
  /** What the user calls the source of the comparison. */
  readonly against: string;
  readonly namespace: string | undefined;
  readonly format: PlanFormat;
  readonly failOn: PlanFailure;
}

const RENDER: Readonly<Record<PlanFormat, (report: AccessReport, against: string) => string>> = {
  text: renderText,
  markdown: renderMarkdown,
  json: renderJson,
};
/** Names of resources without an environment and a cluster are those of any. */
const DEPLOYMENT = { environment: 'default', cluster: 'default' };

/** Prints who gains and who loses what. @returns the exit code @throws {Error} what cannot be read, and where */
export async function accessPlan(
  request: PlanRequest,
  { stdout, stderr }: Pick<CommandContext, 'stdout' | 'stderr'>,
  signal: AbortSignal,
  clock: WallClock = systemClock,
): Promise<number> {
  const options = { reader: new YamlReader(), namespace: request.namespace, deployment: DEPLOYMENT, clock, signal };
  const after = await readSide(request.after, options);
  const before = await readSide(request.before, options);
  for (const note of new Set([...after.notes, ...before.notes])) stderr(`note: ${note}\n`);
  const report = reportOf(planOf(before.set, after.set), (cause) =>
    placeIn(cause.side === 'after' ? after : before, cause),
  );
  stdout(RENDER[request.format](report, request.against));
  // What could not be compared may be a gain of anything.
  if (report.tooMuch.length > 0) return ACCESS_EXIT.error;
  const fails = { none: false, gain: report.gaining > 0, admin: report.gainsAdministration }[request.failOn];
  return fails ? ACCESS_EXIT.fail : ACCESS_EXIT.pass;
}
