import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import type { Instance, MinionTasks, OpenTask } from '../snapshot.ts';
import { counted, enabledTables, entityFinding, examples, Findings, have, instancesOf } from './shared/findings.ts';
import { timeText } from './shared/time-text.ts';

const HOUR_MS = 3_600_000;

/** The tables whose tasks need minions with a tag, and the types of these tasks. */
interface Demand {
  readonly tables: Set<string>;
  readonly types: Set<string>;
}

export const minionTasksStuck = defineCheck({
  name: 'MINION_TASKS_STUCK_CHECK',
  title: 'Minion tasks that do not end',
  description:
    'A minion task has not ended 6 hours after its creation, or no live, enabled minion has the tag that the tasks of a table need.',
  category: 'tasks',
  severity: 'warning',
  defaultThresholds: { maxHours: 6 },
  remediation:
    'Start a minion with the tag, or give one the tag with PUT /instances/{name}/updateTags; resume a stopped queue with PUT /tasks/{taskType}/resume; delete a task that hangs with DELETE /tasks/task/{taskName}?forceDelete=true.',
  madeFault: {
    where: 'lowered',
    fault: 'a task is scheduled while no minion has its tag',
    found: 'the tag, and the type of the task until it ended',
  },
  needs: ['tables', 'enabled', 'instances', 'minionTasks'],
  evaluate({ snapshot, thresholds: { maxHours }, now }) {
    const findings = new Findings();
    const types = findings.value(snapshot.minionTasks, 'cluster', snapshot.clusterName, 'the tasks of the minions');
    for (const type of types ?? []) {
      findings.examined();
      addOpenTasks(type, { now, limitMs: maxHours * HOUR_MS }, findings);
    }
    const demands = new Map<string, Demand>();
    for (const { name, config } of enabledTables(snapshot, findings)) {
      for (const [type, tag] of config.minionTags) {
        const demand = demands.get(tag) ?? { tables: new Set(), types: new Set() };
        demands.set(tag, demand);
        demand.tables.add(name);
        demand.types.add(type);
      }
    }
    const instances = demands.size === 0 ? [] : instancesOf(snapshot, findings);
    for (const [tag, demand] of demands) {
      findings.examined();
      if (instances !== undefined) addTag(tag, demand, instances, findings);
    }
    return findings.outcome({
      pass: `no minion task is open for more than ${counted(maxHours, 'hour')}, and each has a minion with its tag`,
      fail: (count) => `${counted(count, 'reason')} why minion tasks do not end`,
      notApplicable: 'not applicable: no enabled table has tasks for minions, and no task was created',
    });
  },
});

function addOpenTasks(
  { type, open }: MinionTasks,
  { now, limitMs }: { readonly now: number; readonly limitMs: number },
  findings: Findings,
): void {
  const [oldest] = open;
  if (oldest === undefined || now - oldest.createdAt <= limitMs) return;
  const late = open.filter(({ createdAt }) => now - createdAt > limitMs).length;
  const age = timeText(now - oldest.createdAt);
  const others = late === 1 ? '' : `; with it, ${counted(late, 'task')} of this type are open for too long`;
  const message = `\`${oldest.name}\` was created ${age} ago and has not ended: ${progressOf(oldest)}${others}`;
  findings.add(entityFinding('task', type, message, age, `at most ${timeText(limitMs)}`));
}

function progressOf({ running, waiting }: OpenTask): string {
  if (running + waiting === 0) return 'it has not begun';
  if (running === 0) return `no subtask runs, and ${counted(waiting, 'subtask')} ${waiting === 1 ? 'waits' : 'wait'}`;
  const waits = waiting === 0 ? '' : `, and ${rounded(waiting)} ${waiting === 1 ? 'waits' : 'wait'}`;
  return `${counted(running, 'subtask')} ${running === 1 ? 'runs' : 'run'}${waits}`;
}

function addTag(tag: string, { tables, types }: Demand, instances: readonly Instance[], findings: Findings): void {
  const tagged = instances.filter((instance) => instance.type === 'minion' && instance.tags.includes(tag));
  if (tagged.some(({ live, enabled }) => live && enabled)) return;
  const minions =
    tagged.length === 0
      ? 'no minion has the tag'
      : `${have(tagged.length, 'minion', 'the tag')}, but none is live and enabled`;
  const tasks = [...types].toSorted().map((type) => `\`${type}\``);
  const names = [...tables];
  const needed = `${counted(names.length, 'table')}${examples({ count: names.length, names })}`;
  const message = `${minions}: tasks of ${tasks.join(', ')} for ${needed} do not run`;
  findings.add(entityFinding('tenant', tag, message, 'no live, enabled minion', 'at least 1'));
}
