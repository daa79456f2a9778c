import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { TEST_LIMIT_MS } from '../support/limits.ts';
import { SEED as DEFAULT_SEED } from '../support/seed.ts';
import { naiveDecision, type NaiveState, type NaiveStatement } from '../unit/access/naive.ts';
import { ACTIONS, GATEWAYS, HistoryWorld, RBAC, TABLES } from './support/history-world.ts';
import { RandomWriter } from './support/random-writer.ts';
import { shrink } from './support/shrink.ts';
import { describeWrites, type History, type Write } from './support/writes.ts';

// Clients write policies, roles, assignments and tokens through three gateways and kubectl, while each gateway's connection to the Kubernetes API has faults and gateways
// are killed. Afterwards every object has a value that its writes explain, and all gateways decide like a naive evaluation of the stored objects. Of a history that
// fails, the shortest part that still fails is printed.

/** `make test-history` sets WRITES=10000. */
const WRITES = Number(process.env['WRITES'] || 240);
/** `make test-history` explores: each run has other choices unless SEED names some. */
const SEED = Number(process.env['SEED'] || (process.env['WRITES'] ? randomInt(2 ** 30) : DEFAULT_SEED));
const CLIENTS = 6;
/** Parts of a failing history that are tried. */
const MAX_REPETITIONS = 200;

let world: HistoryWorld;
beforeAll(async () => {
  world = await HistoryWorld.start();
});
afterAll(() => world?.stop());

interface Stored {
  readonly metadata: { readonly name: string };
  readonly spec: {
    readonly statements?: readonly NaiveStatement[];
    readonly description?: string;
    readonly policies?: readonly string[];
    readonly role?: string;
    readonly subjects?: readonly { readonly type: string; readonly name: string }[];
  };
}

const contentOf = ({ spec }: Stored): string =>
  JSON.stringify(spec.statements?.map(({ effect, actions, resources }) => ({ effect, actions, resources })));

/** What the stored objects contradict: writes, as each object's own history, and decisions of gateways. */
async function contradictions(history: History): Promise<string[]> {
  const policies = await world.read<Stored>('policies');
  const roles = await world.read<Stored>('roles');
  const assignments = await world.read<Stored>('roleassignments');
  const found = new Map<string, string>([
    ...policies.map((object) => [`Policy ${object.metadata.name}`, contentOf(object)] as const),
    ...roles.map(({ metadata, spec }) => [`Role ${metadata.name}`, spec.description ?? ''] as const),
  ]);
  const state: NaiveState = {
    environment: 'default',
    cluster: 'pinot',
    policies: Object.fromEntries(
      policies.map(({ metadata, spec }) => [metadata.name, { statements: spec.statements ?? [] }]),
    ),
    roles: Object.fromEntries(roles.map(({ metadata, spec }) => [metadata.name, spec.policies ?? []])),
  };
  return [...history.violations(found), ...(await disagreements(state, assignments))];
}

/** The shortest part of a failing history that still fails without faults, one write after another. */
async function shortest(history: History): Promise<string> {
  const fails = async (writes: readonly Write[]): Promise<boolean> =>
    (await contradictions(await world.repeat(writes))).length > 0;
  const { writes } = history;
  if (!(await fails(writes))) return 'Without faults the same writes, one after another, do not fail.';
  const { items, isMinimal } = await shrink(writes, fails, MAX_REPETITIONS);
  const hint = isMinimal ? 'none of them can be left out' : `as short as ${MAX_REPETITIONS} repetitions make it`;
  return `${items.length} of ${writes.length} writes fail also without faults (${hint}):\n${describeWrites(items)}`;
}

/** Decisions of a gateway that are not those of the stored objects. */
async function disagreements(state: NaiveState, assignments: readonly Stored[]): Promise<string[]> {
  const wrong: string[] = [];
  const questions = Array.from({ length: CLIENTS }, (_, id) => `user-${id}@example.com`).flatMap((subject) =>
    TABLES.flatMap((table) => ACTIONS.map((action) => ({ subject, table, action }))),
  );
  for (const { subject, table, action } of questions) {
    const held = assignments
      .filter(({ spec }) => spec.subjects?.some(({ type, name }) => type === 'user-email' && name === subject))
      .map(({ spec }) => spec.role ?? '');
    const wanted = naiveDecision(state, held, action, [['table', table]]);
    const resourceSrn2String = `srn2:table#${table}`;
    const question = { subjectTypeToSubject: { 'user-email': subject }, resourceSrn2String, action };
    for (let at = 0; at < GATEWAYS; at++) {
      const { text } = await world.call(at, 'POST', `${RBAC}/simulate-access`, question);
      const { reason } = JSON.parse(text) as { reason: string };
      if (reason !== wanted) wrong.push(`gateway ${at}: ${subject} ${action} ${table}: ${reason}, not ${wanted}`);
    }
  }
  return wrong;
}

/** Revoked tokens that a gateway accepts, and valid ones that it rejects. */
async function wrongTokens(): Promise<string[]> {
  const wrong: string[] = [];
  for (const [accessKey, { bearerToken, state }] of world.tokens) {
    if (state === 'unknown') continue;
    for (let at = 0; at < GATEWAYS; at++) {
      const { status } = await world.call(at, 'GET', `${RBAC}/whoami`, undefined, bearerToken);
      if (status !== (state === 'live' ? 200 : 401))
        wrong.push(`gateway ${at}: ${state} token ${accessKey}: ${status}`);
    }
  }
  return wrong;
}

it(
  `a random history of ${WRITES} writes with faults (SEED=${SEED})`,
  async () => {
    let over = false;
    const faults = world.injectFaults(SEED ^ 0x5eed, () => over);
    const writers = Array.from({ length: CLIENTS }, (_, id) => new RandomWriter(world, id, SEED));
    try {
      await Promise.all(writers.map((writer) => writer.run(Math.ceil(WRITES / CLIENTS))));
    } finally {
      over = true;
      await faults;
    }
    await world.untilInSync();
    const { history } = world;
    const wrong = await contradictions(history);
    const tokens = await wrongTokens();
    if (wrong.length > 0) {
      const short = await shortest(history);
      expect.fail([`SEED=${SEED}`, ...wrong, short, ...tokens].join('\n'));
    }
    expect(tokens, `SEED=${SEED}`).toEqual([]);
    const revoked = [...world.tokens.values()].filter((token) => token.state === 'deleted').length;
    const escalations = writers.reduce((sum, writer) => sum + writer.escalations, 0);
    process.stdout.write(
      `${WRITES} writes, ${history.expected.size} objects, ${world.tokens.size} tokens (${revoked} revoked), ${escalations} escalations refused, SEED=${SEED}\n`,
    );
  },
  TEST_LIMIT_MS + WRITES * 1_000,
);
