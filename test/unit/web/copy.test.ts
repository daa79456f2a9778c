import { describe, expect, it } from 'vitest';
import { Value } from 'typebox/value';
import { parse, parseAllDocuments } from 'yaml';
import { ClusterHealthReportSpec } from '../../../src/resources/cluster-health-report.ts';
import {
  assignmentManifest,
  curlOf,
  mutesManifest,
  policyManifest,
  roleManifest,
  tokenManifest,
  yamlOf,
} from '../../../web/src/lib/copy.ts';
import { manifestOf } from '../../../web/src/pages/access/grant-plan.ts';
import { execute } from '../../support/execute.ts';

/** Texts that a careless writer of YAML or of a shell command changes. */
const HOSTILE = [
  'plain',
  'two words',
  'a: b',
  'a #b',
  '- x',
  '*',
  '&a',
  'true',
  'NO',
  'null',
  '1e3',
  '0x1f',
  '2026-01-01',
  '',
  ' lead',
  'trail ',
  "it's",
  '"quoted"',
  '$(id) `id` $HOME',
  'line\nbreak',
  '\u2028',
  'srn2:table#sales_*',
  '@at',
  '!tag',
  'ä',
  '1:30',
  'y',
];

describe('YAML', () => {
  it.each(HOSTILE)('keeps the text %j as value, key and item, also for a parser of YAML 1.1', async (text) => {
    const spec = { [text]: text, list: [text, { inner: text, also: [text] }] };
    const manifest = { apiVersion: 'v1', kind: 'Any', metadata: { name: 'any' }, spec };
    const yaml = await yamlOf([manifest]);
    for (const version of ['1.1', '1.2'] as const) expect(parse(yaml, { version })).toEqual(manifest);
  });
});

const ROLE = { name: 'analysts', description: '' };
const POLICY = {
  name: 'read',
  description: 'Reads: orders',
  policyDocument: {
    version: 'v1',
    statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#orders'] }],
  },
} as const;

describe('a manifest', () => {
  it('has what kubectl apply needs', () => {
    const head = { apiVersion: 'olapwarden.io/v1beta1' };
    expect(policyManifest(POLICY)).toEqual({
      ...head,
      kind: 'Policy',
      metadata: { name: 'read' },
      spec: { description: 'Reads: orders', statements: POLICY.policyDocument.statements },
    });
    expect(roleManifest(ROLE, [{ name: 'read' }])).toEqual({
      ...head,
      kind: 'Role',
      metadata: { name: 'analysts' },
      spec: { policies: ['read'] },
    });
    const subject = { subject: 'ada@example.com', subjectType: 'user-email', expiresAt: null } as const;
    expect(assignmentManifest('analysts', [subject])).toEqual({
      ...head,
      kind: 'RoleAssignment',
      metadata: { name: expect.stringMatching(/^analysts-[0-9a-f]{16}$/u) },
      spec: { role: 'analysts', subjects: [{ type: 'user-email', name: 'ada@example.com' }] },
    });
    const token = { srn: 'srn2:service-token#job', description: 'a job', expiresAt: '2040-01-01T00:00:00Z' };
    expect(tokenManifest({ ...token, createdAt: '', createdBy: '', roles: [], status: 'ACTIVE' })).toEqual({
      ...head,
      kind: 'ServiceToken',
      metadata: { name: 'job' },
      spec: { description: 'a job', expiresAt: '2040-01-01T00:00:00Z' },
    });
  });

  it('of assignments has a name that depends on the role and the subjects, and on nothing else', () => {
    const of = (role: string, ...subjects: string[]): string =>
      assignmentManifest(
        role,
        subjects.map((subject) => ({ subject, subjectType: 'user-email' as const })),
      ).metadata.name;
    expect(of('analysts', 'ada@example.com')).toBe(of('analysts', 'ada@example.com'));
    expect(of('analysts', 'ada@example.com', 'bob@example.com')).toBe(
      of('analysts', 'bob@example.com', 'ada@example.com'),
    );
    const names = [
      of('analysts', 'ada@example.com'),
      of('analysts', 'bob@example.com'),
      of('analysts', 'ada@example.com', 'bob@example.com'),
      of('analysts.x', 'ada@example.com'),
      of(`${'r'.repeat(250)}a`, 'ada@example.com'),
      of(`${'r'.repeat(250)}b`, 'ada@example.com'),
    ];
    expect(new Set(names).size).toBe(names.length);
    for (const name of names) expect(name).toMatch(/^[a-z0-9.-]{1,253}$/u);
  });

  it('of mutes has all of them, as the custom resource has them', () => {
    const mute = { id: 'm1', check: '*', entity: 'staging_*', reason: 'new', until: '2040-01-01T00:00:00Z' };
    const other = { ...mute, id: 'm2', check: 'REPLICATION_CHECK', author: 'ada@example.com' };
    const counts = { active: true, findingCount: 3 };
    const found = mutesManifest([
      { ...mute, ...counts },
      { ...other, ...counts },
    ]);
    expect(found).toMatchObject({ kind: 'ClusterHealthReport', metadata: { name: 'cluster' } });
    const { check: _every, ...withoutCheck } = mute;
    expect(found.spec).toEqual({ mutes: [withoutCheck, other] });
    expect(Value.Errors(ClusterHealthReportSpec, found.spec)).toEqual([]);
  });

  it('of a grant has the policy, the role and the assignment', async () => {
    const subject = { subjectType: 'group', subject: 'analysts' };
    const grant = {
      subject,
      tables: ['orders'],
      level: 'read',
      until: '2040-01-31T12:30:00.000Z',
      withToken: true,
    } as const;
    const parts = parseAllDocuments(await manifestOf(grant, 'analysts-read')).map((part) => part.toJSON());
    expect(parts.map(({ kind }) => kind)).toEqual(['Policy', 'Role', 'RoleAssignment']);
    expect(parts[2].spec.subjects).toEqual([
      { type: 'group', name: 'analysts', expiresAt: '2040-01-31T12:30:00.000Z' },
    ]);
  });
});

describe('the call for a shell', () => {
  it('is the same call, whatever the body and the path contain', async () => {
    const path = `/query/sql?sql=${encodeURIComponent(HOSTILE.join())}&quote='`;
    const command = curlOf({ method: 'POST', path, body: HOSTILE }, 'https://olap.example.com');
    // The shell itself splits the command; `curl` prints its arguments.
    const script = `curl() { printf '%s\\0' "$@"; }\n${command}`;
    const { stdout } = await execute('sh', ['-c', script], { env: { OLAP_WARDEN_TOKEN: 'svc-1' } });
    const words = stdout.split('\0');
    expect(words).toContain('Authorization: Bearer svc-1');
    expect(words.at(-2)).toBe(`https://olap.example.com${path}`);
    expect(JSON.parse(words[words.indexOf('--data-raw') + 1] ?? '')).toEqual(HOSTILE);
    expect(words[words.indexOf('--request') + 1]).toBe('POST');
  });
});
