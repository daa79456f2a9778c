import type { JSX } from 'preact';
import { Link } from '../components/basics.tsx';
import { useLocation } from '../lib/router.ts';
import { AssignmentsTab } from './access/assignments.tsx';
import { GrantTab } from './access/grant.tsx';
import { PoliciesTab } from './access/policies.tsx';
import { ReviewTab } from './access/review.tsx';
import { RolesTab } from './access/roles.tsx';
import { TokensTab } from './access/tokens.tsx';

const TABS = [
  { id: 'grant', label: 'Grant', body: GrantTab },
  { id: 'roles', label: 'Roles', body: RolesTab },
  { id: 'policies', label: 'Policies', body: PoliciesTab },
  { id: 'assignments', label: 'Assignments', body: AssignmentsTab },
  { id: 'tokens', label: 'Service tokens', body: TokensTab },
  { id: 'review', label: 'Review', body: ReviewTab },
] as const;

/** The tab that is shown first: it lists what there is. */
const ROLES = TABS[1];

export function AccessPage(): JSX.Element {
  const { query } = useLocation();
  const tab = TABS.find(({ id }) => id === query.get('tab')) ?? ROLES;
  const Body = tab.body;
  return (
    <>
      <h1>Access</h1>
      <nav class="tabs" aria-label="Kinds">
        {TABS.map(({ id, label }) => (
          <Link key={id} to={`/access?tab=${id}`} current={id === tab.id}>
            {label}
          </Link>
        ))}
      </nav>
      <Body />
    </>
  );
}
