import type { JSX } from 'preact';
import { useSession } from '../lib/session.ts';
import { visible } from '../lib/visible.ts';

/** Predefined roles that allow an action on the cluster, as an example for the request for access. */
const ROLES: Readonly<Record<string, string>> = {
  GetHealth: 'health-reader',
  ExecuteTask: 'cluster-admin',
  SimulateAccess: 'rbac-admin',
};

/** Names whom to ask for access, and the missing action. */
function AskForAccess(props: { action: string }): JSX.Element {
  const { me, contact, environment, cluster } = useSession();
  const role = ROLES[props.action];
  const roles = me.roles.map(({ name }) => name).join(', ');
  return (
    <p>
      Ask {contact ?? 'an administrator of olap-warden'} for a role that allows <code>{props.action}</code> on the
      cluster <code>{cluster}</code> in <code>{environment}</code>
      {role !== undefined && (
        <>
          , such as <code>{role}</code>
        </>
      )}
      . You are signed in as <code>{visible(me.srn)}</code> with{' '}
      {roles === '' ? 'no roles' : `the roles ${visible(roles)}`}.
    </p>
  );
}

/** Instead of a page that the caller may not use. The data of the page is not requested, because the gateway would refuse it. */
export function Forbidden(props: { label: string; action: string }): JSX.Element {
  return (
    <section class="card" aria-labelledby="forbidden">
      <h1 id="forbidden">Your roles do not include the page {props.label}</h1>
      <AskForAccess action={props.action} />
    </section>
  );
}
