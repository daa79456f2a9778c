import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { ACTIONS } from '../../../src/access/policy/actions.ts';
import { unmatchable } from '../../../src/access/policy/unmatchable.ts';
import { WHY } from '../../../src/access/policy/unmatchable-texts.ts';
import type { Statement } from '../../../src/resources/policy.ts';
import { policy, statement } from '../../builders/resources.ts';
import { type ControlPlane, startControlPlane } from '../../support/control-plane.ts';
import { sendText } from '../../support/kubernetes/raw-requests.ts';
import { eventually } from '../../support/operator.ts';
import { seeded } from '../../support/seed.ts';

// The warnings of kubectl about policies, evaluated by a real API server, and the texts of the REST API for the same statements.

const NAMESPACE = 'olap';
const POLICIES = `/apis/olapwarden.io/v1beta1/namespaces/${NAMESPACE}/policies`;
const SAID = /^Validation failed for ValidatingAdmissionPolicy '\S+' with binding '\S+': /;
const IN_PARALLEL = 8;

let api: ControlPlane;
let author: string;

beforeAll(async () => {
  api = await startControlPlane();
  await api.applyCrds();
  await api.mustKubectl(['create', 'namespace', NAMESPACE]);
  const rules = join(import.meta.dirname, '../../../manifests/admission/never-matches.yaml');
  await api.mustKubectl(['apply', '-f', '-'], { input: await readFile(rules, 'utf8') });
  author = await api.serviceAccountKubeconfig(NAMESPACE, 'author');
  const account = `--serviceaccount=${NAMESPACE}:author`;
  await api.mustKubectl(['create', 'clusterrolebinding', 'author', '--clusterrole=cluster-admin', account]);
  // The API server applies rules shortly after they are stored.
  await eventually(
    () => written(statement({ actions: ['GetHealth'] })),
    ({ warnings }) => warnings.length > 0,
  );
});
afterAll(() => api.stop());

interface Written {
  readonly status: number;
  readonly warnings: readonly string[];
}

async function send(object: object, method: 'POST' | 'PATCH', path: string): Promise<Written> {
  const contentType = method === 'PATCH' ? 'application/merge-patch+json' : 'application/json';
  const { status, warnings } = await sendText(author, { method, path, contentType, body: JSON.stringify(object) });
  return { status, warnings: warnings.map((text) => text.replace(SAID, '')) };
}

/** What the API server says to a policy of these statements, which it does not store. */
const written = (...statements: Statement[]): Promise<Written> =>
  send(policy('tried', { statements }), 'POST', `${POLICIES}?dryRun=All`);

/** The texts of REST and status, without the names that they search for. */
function expected(statements: readonly Statement[]): string {
  const { errors, warnings } = unmatchable(statements);
  return [...errors, ...warnings]
    .map(({ path, message }) => {
      const isSearched = message.includes(WHY.noName) || /never matches: .* is (?:only )?in /.test(message);
      return `\`${path}\`: ${isSearched ? message.replace(/; did you mean .*$/, '') : message}`;
    })
    .join('; ');
}

const KINDS = ['environment', 'cluster', 'table', 'role', 'policy', 'service-token', 'user', '*', '**'];
const IDS = [
  ...['*', '**', 'a', 'a*', '*b*', 'Team-*', 'orders', 'orders_OFFLINE', 'x_REALTIME', '_OFFLINE', 'default.orders'],
  ...[
    'DEFAULT.a',
    'default.',
    'sales.deals',
    '"orders"',
    "o'neil",
    '`',
    'a,b',
    'a;b',
    '${user}',
    'x${',
    'a.b',
    '-a',
    'a-',
  ],
  ...[
    'a..b',
    'grüße',
    '表',
    'a_b',
    'n'.repeat(253),
    'n'.repeat(254),
    `${'n'.repeat(253)}***`,
    '😀',
    '.*',
    '*-',
    'q"\\',
  ],
];
const GLOBS = [
  '*',
  '**',
  'Get*',
  '*Policy',
  '*role*',
  'create*',
  'CreateServiceT*',
  '*Token',
  'query',
  'GETHEALTH',
  '*y*',
];

/** One to three resources and actions, of which many do not fit. */
function oddStatement(random: ReturnType<typeof seeded>, index: number): Statement {
  const several = <T>(draw: () => T): T[] => [...new Set(Array.from({ length: 1 + random.below(3) }, draw))];
  const level = (): string => `${random.pick(KINDS)}#${random.pick(IDS)}`;
  const resource = (): string =>
    random.below(20) === 0 ? '*' : `srn2:${Array.from({ length: 1 + random.below(3) }, level).join(':')}`;
  const action = (): string => (random.below(3) === 0 ? random.pick(GLOBS) : random.pick(ACTIONS));
  return {
    description: `${index}`,
    effect: random.pick(['allow', 'deny'] as const),
    ...(random.below(8) > 0 && { actions: several(action) }),
    resources: several(resource),
  };
}

describe('the warnings of kubectl about a policy', () => {
  it('are those of the REST API, for many odd statements', async () => {
    const random = seeded(45);
    const tried = Array.from({ length: 480 }, (_, index) =>
      Array.from({ length: 1 + random.below(2) }, (_each, at) => oddStatement(random, index * 2 + at)),
    );
    let accepted = 0;
    let warned = 0;
    const others: object[] = [];
    const next = tried.values();
    const worker = async (): Promise<void> => {
      for (const statements of next) {
        const { status, warnings } = await written(...statements);
        // The rules of the definition refuse some of them.
        if (status === 422) continue;
        accepted++;
        const wanted = expected(statements);
        if (wanted !== '') warned++;
        if (warnings.join('; ') !== wanted) others.push({ statements, status, warnings, wanted });
      }
    };
    await Promise.all(Array.from({ length: IN_PARALLEL }, worker));
    expect(others).toEqual([]);
    expect(accepted).toBeGreaterThan(300);
    expect(warned).toBeGreaterThan(150);
  });

  it('are those of the REST API, for each action on each kind', async () => {
    const kinds = ['table', 'cluster', 'role', 'policy', 'service-token'];
    const statements = kinds.flatMap((kind) =>
      (['allow', 'deny'] as const).flatMap((effect) =>
        ACTIONS.map((action) => statement({ effect, actions: [action], resources: [`srn2:${kind}#*`] })),
      ),
    );
    const next = Array.from({ length: Math.ceil(statements.length / 4) }, (_, at) =>
      statements.slice(at * 4, at * 4 + 4),
    ).values();
    const worker = async (): Promise<void> => {
      for (const some of next) {
        const { warnings } = await written(...some);
        expect(warnings.join('; ')).toBe(expected(some));
      }
    };
    await Promise.all(Array.from({ length: IN_PARALLEL }, worker));
  });

  it('name an action that does not exist, for which the policy denies everything', async () => {
    const { status, warnings } = await written(statement({ actions: ['Qeury', 'Query'] }));
    expect(status).toBe(201);
    expect(warnings).toEqual(['`statements[0].actions[0]`: `Qeury` matches no action']);
  });

  it('are given where the statements change, and not for a label', async () => {
    const mismatched = policy('kept', { statements: [statement({ actions: ['GetHealth'] })] });
    expect((await send(mismatched, 'POST', POLICIES)).warnings).toHaveLength(1);
    const labelled = { metadata: { labels: { team: 'data' } } };
    expect(await send(labelled, 'PATCH', `${POLICIES}/kept`)).toEqual({ status: 200, warnings: [] });
    const { spec } = policy('kept', { statements: [statement({ actions: ['GetHealth'], description: 'x' })] });
    expect((await send({ spec }, 'PATCH', `${POLICIES}/kept`)).warnings).toHaveLength(1);
  });

  it('are no obstacle for the largest policy, and have bounded length', async () => {
    const resources = Array.from({ length: 64 }, (_, at) => `srn2:role#${'R'.repeat(200)}${at}`);
    const many = await written(statement({ actions: ['GetRole'], resources }));
    expect(many).toEqual({
      status: 201,
      warnings: ['parts of the policy never match: the condition Warning of its status names them'],
    });
    const largest = Array.from({ length: 8 }, (_, at) =>
      statement({
        actions: Array.from({ length: 256 }, (_each, index) => `*${'get'.repeat(20)}${'abc'[index % 3]}*`),
        resources: Array.from({ length: 256 }, (_each, index) => `srn2:table#${'t'.repeat(900)}${at}_${index}`),
      }),
    );
    expect((await written(...largest)).status).toBe(201);
  });
});
