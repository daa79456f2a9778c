import { compileGlob, globMatches, type Glob } from '../../platform/glob.ts';
import type { CheckStatus, Finding, LastEvaluated } from '../../resources/health-finding.ts';
import { isEveryEntity, type Mute, type MuteCount } from '../../resources/health-mute.ts';
import { nearest } from '../../resources/nearest.ts';
import { endOf } from '../../resources/time.ts';
import { CATALOGUE } from '../catalogue.ts';
import { MAX_FINDINGS, type CheckFinding, type CheckOutcome } from '../check.ts';
import type { RunResult } from '../run/run.ts';

/** A mute cannot end later: it must be renewed by somebody who looks at the fault again. */
const MAX_MUTE_MS = 90 * 24 * 3_600_000;

/** A mute that is in effect. */
export interface ActiveMute {
  readonly id: string;
  readonly check: Glob;
  readonly entity: Glob;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

/** The mutes that are in effect, those that end last first. @param now milliseconds since the epoch */
export function activeMutes(mutes: readonly Mute[] = [], now: number): readonly ActiveMute[] {
  return mutes
    .map(({ id, check = '*', entity, until }) => ({
      id,
      check: compileGlob(check),
      entity: compileGlob(entity),
      until: endOf(until),
    }))
    .filter(({ until, check, entity }) => until > now && until <= now + MAX_MUTE_MS && !isEverything(check, entity))
    .sort((a, b) => b.until - a.until || (a.id < b.id ? -1 : 1));
}

/** When the set of active mutes changes next; Infinity if it does not. @param now milliseconds since the epoch */
export function nextMuteChange(mutes: readonly Mute[] = [], now: number): number {
  const times = mutes.flatMap(({ until }) => [endOf(until) - MAX_MUTE_MS, endOf(until)]);
  return Math.min(Number.POSITIVE_INFINITY, ...times.filter((time) => time > now));
}

/** Messages about mutes that have no effect. @param now milliseconds since the epoch */
export function muteProblems(mutes: readonly Mute[] = [], now: number): readonly string[] {
  return mutes.flatMap((mute) => {
    const problem = muteProblem(mute, now);
    return problem === undefined ? [] : [`spec.mutes[${mute.id}].${problem}`];
  });
}

/** A message about a mute that cannot have an effect, now or later; undefined for a valid one, even if it has expired. */
export function muteProblem(
  { check = '*', entity, until }: Pick<Mute, 'check' | 'entity' | 'until'>,
  now: number,
): string | undefined {
  const glob = compileGlob(check);
  if (!CATALOGUE.some(({ name }) => globMatches(glob, name))) {
    const names = CATALOGUE.map(({ name }) => name);
    const meant = nearest(check, names);
    return `check: \`${check}\` matches no check${meant === undefined ? '' : `; did you mean \`${meant}\`?`}`;
  }
  if (isEverything(glob, compileGlob(entity))) {
    return `entity: \`${entity}\` needs a \`check\` that does not match every check; a mute of everything would also mute faults of the future`;
  }
  if (endOf(until) > now + MAX_MUTE_MS) return `until: \`${until}\` is more than 90 days ahead`;
  return undefined;
}

/** Whether patterns match every check and every entity. The resource's own rule does not know the names of the checks. */
function isEverything(check: Glob, entity: Glob): boolean {
  return isEveryEntity(entity.source) && CATALOGUE.every(({ name }) => globMatches(check, name));
}

/** The mute that applies to a finding: of several, the one that ends last. Unread data is no known fault and cannot be muted. */
function muteOf(active: readonly ActiveMute[], check: string, finding: Finding): string | undefined {
  if (finding.couldNotRead === true) return undefined;
  return active.find((mute) => globMatches(mute.check, check) && globMatches(mute.entity, finding.entity))?.id;
}

/** What a status says about the findings that are counted apart. */
export type CountedApart = Pick<CheckStatus, 'unreadCount' | 'mutedCount' | 'mutes'>;

/**
 * Applies the mutes to the findings of a run, of which at most `MAX_INDEXED_FINDINGS` are known. Only a mute of every entity applies to the others.
 * @returns the findings with their mutes, those that are not muted first, and the counts
 */
export function muteFindings(
  active: readonly ActiveMute[],
  check: string,
  { findings, findingCount, couldNotEvaluate }: Pick<CheckOutcome, 'findings' | 'findingCount' | 'couldNotEvaluate'>,
): { findings: CheckFinding[]; counts: CountedApart } {
  const marked = findings.map((finding) => withMute(finding, muteOf(active, check, finding)));
  const unreadCount = couldNotEvaluate
    ? findingCount
    : findings.filter(({ couldNotRead }) => couldNotRead === true).length;
  const counts = new Map<string, number>();
  for (const { mutedBy } of marked) addTo(counts, mutedBy, 1);
  if (!couldNotEvaluate) addTo(counts, muteOfAll(active, check), findingCount - findings.length);
  const sorted = [
    ...marked.filter(({ mutedBy }) => mutedBy === undefined),
    ...marked.filter(({ mutedBy }) => mutedBy !== undefined),
  ];
  return { findings: sorted, counts: { ...(unreadCount === 0 ? {} : { unreadCount }), ...mutedPart(counts) } };
}

/** Applies the mutes to the results of a run that is not stored. @param now milliseconds since the epoch */
export function muteRun(run: RunResult, mutes: readonly Mute[] | undefined, now: number): RunResult {
  const active = activeMutes(mutes, now);
  const results = run.results.map(({ name, outcome, durationMs }) => {
    const all = Object.assign({}, outcome, { findings: knownFindings(outcome) });
    const { findings, counts } = muteFindings(active, name, all);
    const outcomeAfter: CheckOutcome = Object.assign({}, outcome, {
      findings: findings.slice(0, MAX_FINDINGS),
      moreFindings: findings.slice(MAX_FINDINGS),
      mutedCount: counts.mutedCount ?? 0,
    });
    return { name, durationMs, outcome: outcomeAfter };
  });
  return { ...run, results };
}

function knownFindings({ findings, moreFindings = [] }: CheckOutcome): CheckFinding[] {
  return [...findings, ...moreFindings];
}

/** Whether a check of such a run fails only with muted faults. */
export function isMutedOutcome(outcome: CheckOutcome): boolean {
  const unreadCount = knownFindings(outcome).filter(({ couldNotRead }) => couldNotRead === true).length;
  return isMuted({ ...outcome, unreadCount });
}

/** Applies the current mutes to a stored check: exactly to the findings that it lists, and to the others as far as their mutes are known. */
export function remuteCheck(active: readonly ActiveMute[], check: CheckStatus): CheckStatus {
  const { mutedCount: _, mutes: stored = [], findings, lastEvaluated, ...rest } = check;
  const unlisted = new Map(stored.map(({ id, findingCount }) => [id, findingCount]));
  for (const { mutedBy } of findings ?? []) addTo(unlisted, mutedBy, -1);
  const listed = findings?.map((finding) => withMute(finding, muteOf(active, check.name, finding)));
  const unlistedCount = check.findingCount - (findings?.length ?? 0);
  const counts = stillMuted(active, check.name, unlisted, check.couldNotEvaluate === true ? 0 : unlistedCount);
  for (const { mutedBy } of listed ?? []) addTo(counts, mutedBy, 1);
  return {
    ...rest,
    ...mutedPart(counts),
    ...(listed === undefined ? {} : { findings: listed }),
    ...(lastEvaluated === undefined ? {} : { lastEvaluated: remuteEvaluated(active, check.name, lastEvaluated) }),
  };
}

/** Does what `remuteCheck` does, for a result that is carried over. Such a result lists no findings. */
function remuteEvaluated(active: readonly ActiveMute[], check: string, evaluated: LastEvaluated): LastEvaluated {
  const { mutedCount: _, mutes = [], ...rest } = evaluated;
  const known = new Map(mutes.map(({ id, findingCount }) => [id, findingCount]));
  const faults = evaluated.findingCount - (evaluated.unreadCount ?? 0);
  return { ...rest, ...mutedPart(stillMuted(active, check, known, faults)) };
}

/** Counts by mute of findings that are not listed: those of active mutes, or all of them where a mute names every entity. */
function stillMuted(
  active: readonly ActiveMute[],
  check: string,
  known: ReadonlyMap<string, number>,
  total: number,
): Map<string, number> {
  const ofAll = muteOfAll(active, check);
  if (ofAll !== undefined) return new Map(total > 0 ? [[ofAll, total]] : []);
  const ids = new Set(active.map(({ id }) => id));
  return new Map([...known].filter(([id, count]) => count > 0 && ids.has(id)));
}

/** The mute of every entity of a check. */
function muteOfAll(active: readonly ActiveMute[], check: string): string | undefined {
  return active.find((mute) => mute.entity.form === 'any' && globMatches(mute.check, check))?.id;
}

function withMute(finding: CheckFinding, id: string | undefined): CheckFinding {
  const { mutedBy: _, ...unmuted } = finding;
  return id === undefined ? unmuted : { ...unmuted, mutedBy: id };
}

function addTo(counts: Map<string, number>, id: string | undefined, count: number): void {
  if (id !== undefined && count !== 0) counts.set(id, (counts.get(id) ?? 0) + count);
}

function mutedPart(counts: ReadonlyMap<string, number>): Pick<CountedApart, 'mutedCount' | 'mutes'> {
  const mutes: MuteCount[] = [...counts]
    .filter(([, findingCount]) => findingCount > 0)
    .map(([id, findingCount]) => ({ id, findingCount }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  if (mutes.length === 0) return {};
  return { mutedCount: mutes.reduce((sum, { findingCount }) => sum + findingCount, 0), mutes };
}

/** Whether a check fails only with muted faults. Parts that could not be read are no faults. */
export function isMuted({
  status,
  findingCount,
  unreadCount = 0,
  mutedCount = 0,
}: Pick<CheckStatus, 'status' | 'findingCount'> & CountedApart): boolean {
  return status === 'FAIL' && mutedCount > 0 && mutedCount >= findingCount - unreadCount;
}
