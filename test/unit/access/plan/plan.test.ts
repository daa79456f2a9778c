import { describe, expect, it } from 'vitest';
import { planOf } from '../../../../src/access/plan/plan.ts';
import { PolicySet, type AccessObjects } from '../../../../src/access/plan/policy-set.ts';
import { renderMarkdown, renderText } from '../../../../src/access/plan/render.ts';
import { reportOf, type AccessReport } from '../../../../src/access/plan/report.ts';
import type { Statement } from '../../../../src/resources/policy.ts';
import type { Subject } from '../../../../src/resources/role-assignment.ts';
import { policy, role, roleAssignment, statement } from '../../../builders/resources.ts';

const NOW = Date.parse('2026-11-26T12:00:00Z');
const TEAM: Subject = { type: 'group', name: 'team' };

/** One role with one policy for one group. */
function access(statements: readonly Statement[], more: Partial<AccessObjects> = {}): AccessObjects {
  return {
    policies: [policy('p', { statements: [...statements] })],
    roles: [role('r', { policies: ['p'] })],
    assignments: [roleAssignment('a', { role: 'r', subjects: [TEAM] })],
    tokens: [],
    ...more,
  };
}

function reported(before: AccessObjects, after: AccessObjects): AccessReport {
  const [was, is] = [before, after].map(
    (objects) => new PolicySet(objects, { environment: 'e', cluster: 'c' }, { now: () => NOW }),
  ) as [PolicySet, PolicySet];
  return reportOf(planOf(was, is), ({ kind, name, path, side }) => `${side}/${kind}/${name}/${path.join('.')}`);
}

/** Each line with its verb, and the places of its causes. */
function lines(before: AccessObjects, after: AccessObjects) {
  return reported(before, after).entries.flatMap((entry) =>
    entry.lines.map(({ directions, text, causes }) => ({
      line: `${directions.join('+')} ${text}`,
      causes: causes.map(({ place }) => place),
    })),
  );
}

const query = (...resources: string[]): Statement => statement({ actions: ['Query'], resources });
const deny = (...resources: string[]): Statement => statement({ effect: 'deny', actions: ['Query'], resources });

describe('a plan of access', () => {
  it('is empty for the same access in other words', () => {
    const one = access([query('srn2:table#a', 'srn2:table#b*')]);
    const other = access([query('srn2:table#b*'), query('srn2:table#a'), query('srn2:table#bb')]);
    expect(reported(one, other).entries).toEqual([]);
  });

  it('leaves out what is denied, and what was held before', () => {
    const after = access([query('srn2:table#sales.*'), deny('srn2:table#sales.salaries')]);
    expect(lines(access([query('srn2:table#sales.orders')]), after)).toEqual([
      {
        line: 'gain `Query` on `sales.*` except `sales.orders`, `sales.salaries`',
        causes: ['after/Policy/p/spec.statements.0'],
      },
    ]);
  });

  it('shows a deny that is removed as a gain, at the deny', () => {
    expect(lines(access([query('srn2:table#*'), deny('srn2:table#hr.*')]), access([query('srn2:table#*')]))).toEqual([
      { line: 'gain `Query` on `hr.*`', causes: ['before/Policy/p/spec.statements.1'] },
    ]);
  });

  it('shows where a role gets a policy, and where a subject gets a role', () => {
    const policies = [
      policy('p', { statements: [query('srn2:table#a')] }),
      policy('q', { statements: [query('srn2:table#b')] }),
    ];
    const before = access([], { policies });
    const attached = { ...before, roles: [role('r', { policies: ['p', 'q'] })] };
    expect(lines(before, attached)).toEqual([
      { line: 'gain `Query` on `b`', causes: ['after/Role/r/spec.policies.1'] },
    ]);
    const assigned = {
      ...before,
      assignments: [roleAssignment('a', { role: 'r', subjects: [TEAM, { type: 'domain', name: 'x.org' }] })],
    };
    expect(lines(before, assigned)).toEqual([
      { line: 'gain `Query` on `a`', causes: ['after/RoleAssignment/a/spec.subjects.1'] },
    ]);
  });

  it('compares all roles of a subject together', () => {
    const policies = [
      policy('p', { statements: [query('srn2:table#*')] }),
      policy('q', { statements: [deny('srn2:table#b')] }),
    ];
    const roles = [role('r', { policies: ['p'] }), role('s', { policies: ['q'] })];
    const before = access([], { policies, roles });
    const both = [...before.assignments, roleAssignment('b', { role: 's', subjects: [TEAM] })];
    expect(lines(before, { ...before, assignments: both }).map(({ line }) => line)).toEqual(['loss `Query` on `b`']);
  });

  it('shows rows and columns', () => {
    const conditions = { rowFilters: ["region = 'eu'"], columns: { deny: ['mail'] } };
    const part = access([{ ...query('srn2:table#a'), conditions }]);
    const whole = access([query('srn2:table#a')]);
    const shown = "rows where `region = 'eu'`, without the columns `mail`";
    const linesOf = (before: AccessObjects, after: AccessObjects) => lines(before, after).map(({ line }) => line);
    expect(
      linesOf(
        access([query('srn2:table#z')]),
        access([query('srn2:table#z'), { ...query('srn2:table#a'), conditions }]),
      ),
    ).toEqual([`gain \`Query\` on \`a\`: ${shown}`]);
    expect(linesOf(whole, part)).toEqual([`loss \`Query\` on \`a\`: ${shown}; before all rows and columns`]);
    expect(linesOf(part, whole)).toEqual([`gain \`Query\` on \`a\`: all rows and columns; before ${shown}`]);
    const other = access([{ ...query('srn2:table#a'), conditions: { rowFilters: ["region = 'us'"] } }]);
    expect(linesOf(part, other)).toEqual([
      `gain+loss \`Query\` on \`a\`: rows where \`region = 'us'\`, all columns; before ${shown}`.replace(
        ', all columns',
        '',
      ),
    ]);
  });

  it('shows that an invalid policy denies everything', () => {
    const before = access([query('srn2:table#a')]);
    const invalid = access([statement({ actions: ['Qery'], resources: ['srn2:table#a'] })]);
    expect(lines(before, invalid)).toEqual([{ line: 'loss `Query` on `a`', causes: ['after/Policy/p/spec'] }]);
  });

  it('names every action on everything, and that access itself is gained', () => {
    const report = reported(access([]), access([statement({ actions: ['*'], resources: ['*'] })]));
    expect(report.entries[0]?.lines.map(({ text }) => text)).toContain('every action on everything');
    expect(report.gainsAdministration).toBe(true);
    expect(reported(access([]), access([query('srn2:table#a')])).gainsAdministration).toBe(false);
  });

  it('compares roles that nobody has', () => {
    const unassigned = (statements: Statement[]) => access(statements, { assignments: [] });
    const report = reported(unassigned([]), unassigned([query('srn2:table#a')]));
    expect(report.entries.map(({ whos }) => whos)).toEqual([[{ type: 'role', name: 'r' }]]);
    expect(renderText(report, 'main')).toContain('role r (assigned to nobody)');
  });

  it('shows until when a role is held', () => {
    const until = (expiresAt?: string) =>
      access([query('srn2:table#a')], {
        assignments: [roleAssignment('a', { role: 'r', subjects: [{ ...TEAM, ...(expiresAt && { expiresAt }) }] })],
      });
    expect(lines(until('2027-01-01T00:00:00Z'), until()).map(({ line }) => line)).toEqual([
      'gain role `r` without an end instead of until 2027-01-01T00:00:00.000Z',
    ]);
    expect(lines(until(), until('2026-01-01T00:00:00Z')).map(({ line }) => line)).toEqual(['loss `Query` on `a`']);
  });

  it('names the cluster where statements do', () => {
    const after = access([query('srn2:table#*'), deny('srn2:cluster#prod:table#hr')]);
    expect(lines(access([]), after).map(({ line }) => line)).toEqual([
      'gain `Query` on all tables except `hr` of cluster `prod`',
    ]);
  });

  it('shows that calls on the cluster may no longer name a table', () => {
    const admin = statement({ actions: ['CreateTenant'], resources: ['srn2:cluster#*'] });
    const closed = statement({ effect: 'deny', actions: ['CreateTenant'], resources: ['srn2:table#a'] });
    expect(lines(access([admin]), access([admin, closed])).map(({ line }) => line)).toEqual([
      'loss `CreateTenant` on `a`',
    ]);
  });

  it('puts subjects with the same changes together', () => {
    const two = access([query('srn2:table#a')], {
      assignments: [roleAssignment('a', { role: 'r', subjects: [TEAM, { type: 'group', name: 'other' }] })],
    });
    expect(renderMarkdown(reported({ ...two, policies: [] }, two), 'main')).toBe(
      [
        '### Access: 2 gain, 0 lose (7 subjects and unassigned roles, compared with `main`)',
        '',
        '**group `other`, group `team`**',
        '',
        '- **gains** `Query` on `a`<br><sub>`after/Policy/p/spec.statements.0`: statement 0 of Policy `p` added</sub>',
        '',
      ].join('\n'),
    );
  });
});
