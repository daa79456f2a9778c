import { defineCheck } from '../check.ts';
import { rounded } from '../numbers.ts';
import { counted, entityFinding, Findings } from './shared/findings.ts';

export const minionTaskFailures = defineCheck({
  name: 'MINION_TASK_FAILURES_CHECK',
  title: 'Failures of minion tasks',
  description: 'The last 3 tasks of a type that ended on minions all had subtasks that failed.',
  category: 'tasks',
  severity: 'warning',
  defaultThresholds: { minFailures: 3 },
  remediation: 'Read the errors in GET /tasks/task/{task}/debug and in the log of the minions.',
  madeFault: {
    where: 'live',
    fault: 'the file that a minion reads is no JSON, three times',
    found: 'the type of the task, until a task succeeded',
  },
  needs: ['minionTasks'],
  evaluate({ snapshot, thresholds: { minFailures } }) {
    const findings = new Findings();
    const types = findings.value(snapshot.minionTasks, 'cluster', snapshot.clusterName, 'the tasks of the minions');
    for (const { type, ended, failedInARow, lastTask = '', lastFailedSubtasks, lastSubtasks } of types ?? []) {
      if (ended > 0) findings.examined();
      if (failedInARow === 0 || failedInARow < minFailures) continue;
      const observed = `${counted(failedInARow, 'task')} in a row`;
      const last = `in the last one, \`${lastTask}\`, ${rounded(lastFailedSubtasks)} of ${counted(lastSubtasks, 'subtask')} failed`;
      const message = `subtasks of ${observed} failed; ${last}`;
      findings.add(entityFinding('task', type, message, observed, `fewer than ${rounded(minFailures)}`));
    }
    return findings.outcome({
      pass: `no type of minion tasks failed ${rounded(minFailures)} times in a row`,
      fail: (count) => `the tasks of ${counted(count, 'type')} fail again and again`,
      notApplicable: 'not applicable: no minion task has ended',
    });
  },
});
