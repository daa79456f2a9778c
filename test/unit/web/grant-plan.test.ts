import { describe, expect, it } from 'vitest';
import { extended } from '../../../web/src/pages/access/grant-existing.ts';
import { documentOf, suggestedName, type Grant } from '../../../web/src/pages/access/grant-plan.ts';
import { grantPath, refusedIn } from '../../../web/src/lib/refusal.ts';

const GRANT: Grant = {
  subject: { subjectType: 'group', subject: 'analysts' },
  tables: ['orders'],
  level: 'read',
  until: '',
  withToken: false,
};

describe('the name of a grant', () => {
  it('is that of an earlier grant of the same level to the same subject', () => {
    expect(suggestedName(GRANT)).toBe('analysts-read-orders');
    expect(suggestedName(GRANT, ['analysts-write-events', 'analysts-read-events'])).toBe('analysts-read-events');
    expect(suggestedName(GRANT, ['analysts-reading'])).toBe('analysts-read-orders');
  });

  it('is one that the caller may create', () => {
    expect(suggestedName(GRANT, [], ['*'])).toBe('analysts-read-orders');
    expect(suggestedName(GRANT, [], ['team-a-*', 'x'])).toBe('team-a-analysts-read-orders');
  });
});

describe('a policy that a grant extends', () => {
  it('has the table once in the statement of the same level, and keeps everything else', () => {
    const before = documentOf({ ...GRANT, tables: ['events'] });
    const { statements } = extended(before, { tables: ['orders', 'events'], level: 'read' });
    expect(statements).toEqual([
      { effect: 'allow', actions: ['Query', 'Get*'], resources: ['srn2:table#events', 'srn2:table#orders'] },
    ]);
    const conditions = { rowFilters: ["city = 'Berlin'"] };
    const partly = { version: 'v1' as const, statements: [{ ...statements[0]!, conditions }] };
    expect(extended(partly, GRANT).statements).toEqual([partly.statements[0], ...documentOf(GRANT).statements]);
  });
});

describe('a refusal', () => {
  it('is read from the message of the gateway', () => {
    const message = '`srn2:user#ada` may not `Query` on `srn2:table#orders`: no statement of its roles allows it';
    expect(refusedIn(message)).toEqual({ action: 'Query', resource: 'srn2:table#orders' });
    expect(refusedIn('`srn2:user#ada` may not `GetHealth` on the cluster: …')).toEqual({ action: 'GetHealth' });
    expect(refusedIn('table `orders` was not found')).toBeUndefined();
  });

  it.each([
    ['GetSchema', 'srn2:table#orders', 'read'],
    ['DeleteSegment', 'srn2:cluster#c:table#orders', 'write'],
    ['DeleteTable', 'srn2:table#orders', 'manage'],
  ])('of %s on %s leads to the form with the level %s', (action, resource, level) => {
    const query = new URL(`http://x${grantPath({ action, resource }, GRANT.subject) ?? ''}`).searchParams;
    expect(Object.fromEntries(query)).toEqual({
      ...{ tab: 'grant', subject: 'analysts', subjectType: 'group', table: 'orders' },
      level,
    });
    expect(grantPath({ action, resource: 'srn2:role#x' }, GRANT.subject)).toBeUndefined();
  });
});
