import { askedActionProblem } from '../../access/policy/actions.ts';
import { meaningsOf, parseAskedResource, type AskedResource } from '../../access/policy/asked-resource.ts';
import type { SimulatedRequest } from '../../access/policy/simulate.ts';
import type { RbacManager } from '../../access/manager/manager.ts';
import { HttpError } from '../server/errors.ts';

/** A question of simulate-access or who-can: one action on one resource. */
export interface AskedQuestion {
  readonly action: string;
  readonly resource: string;
}

/** The names of the fields of a question in its request, for errors. */
export interface Fields {
  readonly action: string;
  readonly resource: string;
}

/**
 * The actions, and all that their resources may mean.
 * @throws {HttpError} 400 for a pattern, an unknown action or another form of the resource
 */
export async function readQuestions(
  manager: RbacManager,
  questions: readonly AskedQuestion[],
  fields: Fields,
): Promise<SimulatedRequest[]> {
  const asked = questions.map((question) => ({
    action: question.action,
    resource: readQuestion(manager, question, fields),
  }));
  const names = new Set(asked.flatMap(({ resource: { table } }) => table ?? []));
  const meant = await manager.tablesMeantBy([...names]);
  return asked.map(({ action, resource }) => {
    return { action, resources: meaningsOf(resource, action, meant.get(resource.table ?? '')) };
  });
}

function readQuestion(manager: RbacManager, { action, resource }: AskedQuestion, fields: Fields): AskedResource {
  const asked = parseAskedResource(resource, action, manager.directory.deployment);
  if (!asked.ok) throw new HttpError(400, `${fields.resource}: ${asked.message}`);
  const problem = askedActionProblem(action);
  if (problem !== undefined) throw new HttpError(400, `${fields.action}: ${problem}`);
  return asked.value;
}
