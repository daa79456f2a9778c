import type { JSX } from 'preact';
import { Tabs, type Tab } from '../components/tabs.tsx';
import { mayGrant, useSession } from '../lib/session.ts';
import { AssignmentsTab } from './access/assignments.tsx';
import { GrantTab } from './access/grant.tsx';
import { PoliciesTab } from './access/policies.tsx';
import { ReviewTab } from './access/review.tsx';
import { RolesTab } from './access/roles.tsx';
import { TokensTab } from './access/tokens.tsx';

const GRANT: Tab = { id: 'grant', label: 'Grant', body: GrantTab };
/** Each tab is shown to callers with one of its actions on some name. */
const TABS: readonly (Tab & { readonly any: readonly string[] })[] = [
  { id: 'roles', label: 'Roles', body: RolesTab, any: ['GetRole', 'CreateRole'] },
  { id: 'policies', label: 'Policies', body: PoliciesTab, any: ['GetPolicy', 'CreatePolicy'] },
  { id: 'assignments', label: 'Assignments', body: AssignmentsTab, any: ['GetAssignment', 'CreateAssignment'] },
  { id: 'tokens', label: 'Service tokens', body: TokensTab, any: ['GetServiceToken', 'CreateServiceToken'] },
  { id: 'review', label: 'Review', body: ReviewTab, any: ['GetAssignment', 'GetRole', 'GetServiceToken'] },
];

export function AccessPage(): JSX.Element {
  const session = useSession();
  const shown = TABS.filter(({ any }) => any.some((action) => session.access[action] !== undefined));
  const tabs = mayGrant(session) ? [GRANT, ...shown] : shown;
  return (
    <>
      <h1>Access</h1>
      {/* The first tab lists what there is. */}
      <Tabs path="/access" label="Kinds" tabs={tabs} first="roles" />
    </>
  );
}
