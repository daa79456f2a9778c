// @module-tag slow
import { existsSync } from 'node:fs';
import { mkdtemp, mkdir, readFile, rm, symlink, writeFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import type { CheckContext } from '../../../src/app/check.ts';
import { runAccess } from '../../../src/commands/access.ts';
import { systemClock } from '../../../src/platform/clock.ts';
import { policy, role, roleAssignment, statement } from '../../builders/resources.ts';
import { execute } from '../../support/execute.ts';
import { once } from '../../support/once.ts';

const SAMPLES = join(import.meta.dirname, '../../../manifests/samples');
let home: string;
let folder: string;

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'olap-warden-access-'));
});
afterAll(() => rm(home, { recursive: true, force: true }));
beforeEach(async () => {
  folder = await mkdtemp(join(home, 'case-'));
});

async function access(...args: string[]): Promise<{ code: number; out: string; err: string }> {
  const printed = { out: '', err: '' };
  const context: CheckContext = {
    args,
    env: { OLAP_WARDEN_TOKEN: 'the-token' },
    stdout: (text) => void (printed.out += text),
    stderr: (text) => void (printed.err += text),
    stdoutIsTty: false,
    stderrIsTty: false,
    width: 100,
    clock: systemClock,
    signal: new AbortController().signal,
  };
  return { code: await runAccess(context), ...printed };
}

async function write(path: string, ...objects: readonly (object | string)[]): Promise<string> {
  const file = join(folder, path);
  await mkdir(dirname(file), { recursive: true });
  await writeFile(
    file,
    objects.map((object) => (typeof object === 'string' ? object : stringify(object))).join('---\n'),
  );
  return file;
}

const reads = (...resources: string[]) => policy('reads', { statements: [statement({ resources })] });
const ROLE = role('analysts', { policies: ['reads'] });
const TEAM = roleAssignment('analysts', { role: 'analysts', subjects: [{ type: 'group', name: 'team' }] });

describe('access plan', () => {
  async function repository(): Promise<string> {
    const git = (...args: string[]) =>
      execute('git', ['-C', folder, '-c', 'user.name=test', '-c', 'user.email=test@example.com', ...args]);
    await write('access/policies.yaml', reads('srn2:table#events'));
    await write('access/roles/analysts.yaml', ROLE, TEAM);
    await git('init', '-q', '-b', 'main');
    await git('add', '-A');
    await git('commit', '-qm', 'access');
    return join(folder, 'access');
  }

  it('compares with a revision of Git, at the file and line', async () => {
    const path = await repository();
    expect(await access('plan', '-f', path, '--against', 'main', '--fail-on', 'gain')).toMatchObject({
      code: 0,
      out: expect.stringContaining('nobody gains or loses anything') as string,
    });
    const file = await write('access/policies.yaml', '# a comment\n', reads('srn2:table#events', 'srn2:table#sales.*'));
    const { code, out, err } = await access('plan', '-f', path, '--against', 'main', '--fail-on', 'gain');
    expect(err).toBe('');
    expect(out).toContain(`group team\n  gains Query on sales.*\n      ${file}:9: statement 0 of Policy reads added\n`);
    expect(code).toBe(1);
    expect(await access('plan', '-f', path, '--against', 'main', '--fail-on', 'admin')).toMatchObject({ code: 0 });
    const json = await access('plan', '-f', path, '--against', 'main', '-o', 'json');
    expect(JSON.parse(json.out)).toMatchObject({
      gaining: 1,
      losing: 0,
      changes: [
        {
          subjects: [{ type: 'group', name: 'team' }],
          changes: [{ directions: ['gain'], kind: 'table', actions: ['Query'] }],
        },
      ],
    });
  });

  it('says which revision does not exist', async () => {
    const path = await repository();
    const { code, err } = await access('plan', '-f', path, '--against', '--output=x');
    expect(code).toBe(2);
    expect(err).toContain("Option '--against' argument is ambiguous");
    expect((await access('plan', '-f', path, '--against', 'nowhere')).err).toContain(
      '`nowhere` is not a revision of the Git repository',
    );
  });

  it('compares with a gateway, page by page', async () => {
    const asked: string[] = [];
    const server: Server = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://gateway');
      asked.push(`${request.headers.authorization} ${url.pathname}${url.search}`);
      const lists: Record<string, unknown[]> = {
        '/base/policies': [
          { name: 'reads', policyDocument: { statements: reads('srn2:table#events').spec.statements } },
        ],
        '/base/roles': [{ name: 'analysts', srn: 'srn2:role#analysts' }],
        '/base/roles/srn2%3Arole%23analysts/policies': [{ name: 'reads' }],
        '/base/assignments': [{ role: 'analysts', subject: 'team', subjectType: 'group', expiresAt: null }],
        '/base/service-tokens': [],
      };
      const list = lists[url.pathname];
      const isFirst = url.pathname === '/base/policies' && !url.searchParams.has('continue');
      if (isFirst) response.setHeader('link', '</policies?limit=500&continue=next>; rel="next"');
      response.setHeader('content-type', 'application/json');
      response.writeHead(list === undefined ? 404 : 200).end(JSON.stringify(isFirst ? [] : (list ?? {})));
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    try {
      const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      await write('access.yaml', reads('srn2:table#sales'), ROLE, TEAM);
      const { out, err, code } = await access('plan', '-f', folder, '--gateway', `${url}/base`);
      expect(code).toBe(0);
      expect(out).toContain('gains Query on sales\n');
      expect(out).toContain('loses Query on events\n');
      expect(err).toContain('note: the gateway shows what its caller may read');
      expect(asked).toContain('Bearer the-token /base/policies?limit=500&continue=next');
      const failed = await access('plan', '-f', folder, '--gateway', url);
      expect(failed).toMatchObject({ code: 2, out: '' });
      expect(failed.err).toContain(`cannot read ${url}/policies: status 404`);
    } finally {
      server.closeAllConnections();
      server.close();
    }
  });

  it('names each file, line and field that cannot be read, and what would be right', async () => {
    await write(
      'a.yaml',
      reads('srn2:table#events'),
      { ...ROLE, kind: 'Rol' },
      { ...ROLE, spec: { policy: ['reads'] } },
    );
    await write('b.yaml', 'apiVersion: [\n');
    await write('c.yaml', reads('srn2:table#other'));
    await write('values.yaml', 'replicas: 1\n');
    const { code, err } = await access('plan', '-f', folder, '--with', folder);
    expect(code).toBe(2);
    for (const text of [
      `${folder}/a.yaml:14: unknown kind \`Rol\`; did you mean \`Role\`?`,
      `${folder}/a.yaml:26: spec.policy: `,
      `${folder}/b.yaml:2: invalid YAML`,
      `${folder}/c.yaml:1: Policy \`reads\` is also in ${folder}/a.yaml:1`,
      `${folder}/values.yaml:1: not a manifest: it needs \`apiVersion\` and \`kind\``,
    ])
      expect(err).toContain(text);
  });

  it('says which kinds it leaves out', async () => {
    await write('a.yaml', ROLE, { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'd' } });
    const { err } = await access('plan', '-f', folder, '--with', folder);
    expect(err).toContain('left out, because they do not determine access: 1 Deployment (apps/v1)');
  });

  it('wants one source to compare with, and no credential in a URL', async () => {
    expect(await access('plan', '-f', folder)).toMatchObject({ code: 2 });
    const { err } = await access('plan', '-f', folder, '--gateway', 'http://user:secret@host');
    expect(err).toContain('`--gateway` must have no user and password');
    expect(err).not.toContain('secret');
  });
});

describe('access test', () => {
  it('answers the questions of the samples as they say', async () => {
    expect(await access('test', join(SAMPLES, 'tests/access.yaml'), '-f', SAMPLES)).toMatchObject({ code: 0, err: '' });
  });

  it('shows the statement that decides otherwise, and writes JUnit', async () => {
    const question = { subject: { type: 'group', name: 'team' }, action: 'Query', resource: 'srn2:table#events' };
    const part = { ...statement(), resources: ['srn2:table#part'], conditions: { rowFilters: ["region = 'eu'"] } };
    await write('access.yaml', policy('reads', { statements: [statement(), part] }), ROLE, TEAM);
    const cases = [
      { ...question, expect: 'allow', why: 'reads' },
      { ...question, expect: 'deny', name: 'no <events>' },
      { ...question, resource: 'srn2:table#part', expect: 'filter', rows: ["region = 'eu'"] },
      { ...question, resource: 'srn2:table#part', expect: 'filter', rows: ["region = 'us'"] },
      { ...question, resource: 'srn2:table#other', expect: 'allow' },
    ];
    const test = { apiVersion: 'olapwarden.io/v1beta1', kind: 'AccessTest', metadata: { name: 't' }, spec: { cases } };
    const file = await write('tests/access.yaml', test);
    const junit = join(folder, 'junit.xml');
    const { code, out } = await access('test', file, '-f', folder, '--junit', junit);
    expect(code).toBe(1);
    expect(out).toContain(
      `${file}:14: no <events>: expected deny, is allow: statement 0 of policy \`reads\` of role \`analysts\` (${folder}/access.yaml:7) allows it\n`,
    );
    expect(out).toContain("expected the rows `region = 'us'`, are `region = 'eu'`: statement 1 of policy `reads`");
    expect(out).toContain('expected allow, is deny: no statement allows it\n');
    expect(out).toContain('5 questions, 3 with another answer than expected\n');
    const xml = await readFile(junit, 'utf8');
    expect(xml).toContain('tests="5" failures="3"');
    expect(xml).toContain('<testcase name="no &lt;events&gt;"');
  });

  it('names the place of what is no question', async () => {
    const test = {
      apiVersion: 'olapwarden.io/v1beta1',
      kind: 'AccessTest',
      metadata: { name: 't' },
      spec: {
        cases: [{ subject: { type: 'team', name: 'x' }, action: 'Quer', resource: 'srn2:table#a', expects: 'allow' }],
      },
    };
    const file = await write('tests.yaml', test);
    await write('access/access.yaml', ROLE);
    const { code, err } = await access('test', file, '-f', join(folder, 'access'));
    expect(code).toBe(2);
    expect(err).toContain(`${file}:12: spec.cases[0].expects: unknown field; did you mean \`expect\`?`);
    expect(err).toContain(`${file}:10: spec.cases[0].action: \`Quer\` matches no action; did you mean \`Query\`?`);
    expect(err).toContain('spec.cases[0].subject: `type` must be one of user-email, group, domain, service-token');
  });
});

describe('access lint', () => {
  it('finds nothing in the samples', async () => {
    expect(await access('lint', '-f', SAMPLES)).toMatchObject({ code: 0, out: 'nothing found in 6 policies\n' });
    const { out } = await access('lint', '-f', SAMPLES, '--cluster', 'pinot');
    expect(out).toContain('Policy `operate-staging`: cluster `staging` does not exist');
  });

  it('names what never matches, never decides and contradicts, at its line', async () => {
    const query = (effect: 'allow' | 'deny', ...resources: string[]) => statement({ effect, resources });
    const statements = [
      query('allow', 'srn2:table#a*'),
      query('allow', 'srn2:table#ab'),
      query('allow', 'srn2:table#hr.x'),
      query('deny', 'srn2:table#hr.*'),
      query('deny', 'srn2:table#hr.y'),
      query('allow', 'srn2:table#b_OFFLINE'),
      query('allow', 'srn2:table#c'),
      statement({ actions: ['GetRole'], resources: ['srn2:role#analyst'] }),
    ];
    const file = await write(
      'access.yaml',
      policy('reads', { statements }),
      ROLE,
      policy('broken', { statements: [statement({ actions: ['Quer'] })] }),
    );
    const { code, out } = await access('lint', '-f', folder);
    expect(code).toBe(1);
    expect(out.split('\n')).toEqual([
      expect.stringMatching(
        `^${file}:\\d+: Policy \`broken\`: \`Quer\` matches no action; did you mean \`Query\`\\?; the policy is invalid`,
      ),
      expect.stringMatching(
        `^${file}:\\d+: Policy \`reads\`: \`srn2:table#b_OFFLINE\` never matches: a table has its name without the type`,
      ),
      expect.stringContaining('Policy `reads`: role `analyst` does not exist; did you mean `analysts`?'),
      `${file}:12: Policy \`reads\`: statement 1 never decides: statement 0 of the policy allows all of it`,
      `${file}:17: Policy \`reads\`: statement 2 never decides: statement 3 of the policy denies all of it`,
      `${file}:27: Policy \`reads\`: statement 4 never decides: statement 3 of the policy denies all of it`,
      '6 findings in 2 policies',
      '',
    ]);
  });
});

afterEach(() => rm(folder, { recursive: true, force: true }));

describe('manifests of an attacker', () => {
  it('with aliases that repeat too much are refused, with their place', async () => {
    const levels = Array.from({ length: 11 }, (_, at) => `a${at + 1}: &a${at + 1} [${`*a${at},`.repeat(9)}]\n`);
    const file = await write('bomb.yaml', `a0: &a0 [x]\n${levels.join('')}`);
    expect(await access('lint', '-f', folder)).toMatchObject({
      code: 2,
      err: expect.stringContaining(`${file}:1: invalid YAML: its aliases repeat too much`) as string,
    });
  });

  it.skipIf(!existsSync('/dev/zero'))('that are a link to a device without end are refused', async () => {
    await symlink('/dev/zero', join(folder, 'endless.yaml'));
    expect(await access('lint', '-f', folder)).toMatchObject({
      code: 2,
      err: expect.stringMatching(/cannot read `.*endless\.yaml`: it has more than \d+ bytes/) as string,
    });
  });
});
