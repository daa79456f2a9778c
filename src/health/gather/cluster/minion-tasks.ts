import type { MinionTasks, OpenTask } from '../../snapshot.ts';
import { StatusError } from '../calls/call.ts';
import type { ClusterCalls } from './cluster.ts';
import { objectOf } from '../json-values.ts';
import type { EngineReader } from '../calls/reader.ts';

/** Types of tasks that are read. Pinot has fewer than ten; plugins can add others. */
const MAX_TYPES = 50;
/** States of a subtask that end it without success. */
const FAILED = ['error', 'timedOut', 'aborted', 'dropped'] as const;
const RUNNING = ['waiting', 'running'] as const;
/** Open tasks of a type that are kept: the oldest. */
const MAX_OPEN = 100;
/** Pinot 0.11 responds with 500 to a request for tasks that does not ask for JSON. */
const JSON_ONLY = { accept: 'application/json' };

/** Reads the latest tasks of each type, one type after the other: the controller reads each of its tasks from ZooKeeper. */
export async function readMinionTasks(reader: EngineReader, calls: ClusterCalls): Promise<MinionTasks[]> {
  const types = await calls.taskTypes();
  const result: MinionTasks[] = [];
  for (const type of types.slice(0, MAX_TYPES)) {
    const path = `/tasks/${encodeURIComponent(type)}/taskcounts`;
    const counts = await orNone(() => reader.json({ ...calls.call('task_counts', path), headers: JSON_ONLY }));
    result.push(minionTasks(type, objectOf(counts)));
  }
  return result;
}

/** There may be no task of the type any more. */
async function orNone(read: () => Promise<unknown>): Promise<unknown> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof StatusError && error.status === 404 && error.fromController) return undefined;
    throw error;
  }
}

/** @param counts numbers of subtasks by state, by name of the task */
function minionTasks(type: string, counts: Readonly<Record<string, unknown>>): MinionTasks {
  const ended = Object.entries(counts)
    .map(([name, value]) => ({ name, value: objectOf(value), at: timeOf(name) }))
    .filter(({ value }) => sum(value, ['total']) > 0 && sum(value, RUNNING) === 0)
    .sort((a, b) => b.at - a.at);
  const succeeded = ended.findIndex(({ value }) => sum(value, FAILED) === 0);
  return {
    type,
    ended: ended.length,
    failedInARow: succeeded < 0 ? ended.length : succeeded,
    lastTask: ended[0]?.name,
    lastFailedSubtasks: sum(ended[0]?.value ?? {}, FAILED),
    lastSubtasks: sum(ended[0]?.value ?? {}, ['total']),
    open: openTasks(counts),
  };
}

function openTasks(counts: Readonly<Record<string, unknown>>): OpenTask[] {
  return Object.entries(counts)
    .map(([name, value]) => ({ name, value: objectOf(value), createdAt: timeOf(name) }))
    .filter(({ value, createdAt }) => createdAt > 0 && (sum(value, RUNNING) > 0 || sum(value, ['total']) === 0))
    .map(({ name, value, createdAt }) => {
      return { name, createdAt, running: sum(value, ['running']), waiting: sum(value, ['waiting']) };
    })
    .toSorted((a, b) => a.createdAt - b.createdAt)
    .slice(0, MAX_OPEN);
}

function sum(counts: Readonly<Record<string, unknown>>, states: readonly string[]): number {
  return states.reduce((total, state) => total + (Number(counts[state]) || 0), 0);
}

/** The time at the end of a task's name, `Task_<type>_<milliseconds since the epoch>`; newer versions put an id before it. */
function timeOf(name: string): number {
  return Number(/_([0-9]{1,15})$/u.exec(name)?.[1] ?? 0);
}
