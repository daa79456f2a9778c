import type { JSX } from 'preact';
import { useSession } from '../lib/session.ts';
import type { Session } from '../lib/types.ts';
import { CopyButton, Prose } from './basics.tsx';

/** Predefined roles that allow an action on the cluster, as an example for the request for access. */
const ROLES: Readonly<Record<string, string>> = {
  GetHealth: 'health-reader',
  ExecuteTask: 'cluster-admin',
  SimulateAccess: 'rbac-admin',
};

/** Whom to ask for access, and for what, in a text with code in backticks. */
function requestFor(action: string, { me, contact, environment, cluster }: Session): string {
  const role = ROLES[action];
  const example = role === undefined ? '' : `, such as \`${role}\``;
  const roles = me.roles.map(({ name }) => name).join(', ');
  return (
    `Ask ${contact ?? 'an administrator of olap-warden'} for a role that allows \`${action}\` on the cluster \`${cluster}\` ` +
    `in \`${environment}\`${example}. You are signed in as \`${me.srn}\` with ${roles === '' ? 'no roles' : `the roles ${roles}`}.`
  );
}

/** What the person who is asked gets to read. */
function messageFor(action: string, { me, environment, cluster }: Session): string {
  return `Please give me (${me.srn}) a role that allows ${action} on the cluster ${cluster} in ${environment}.`;
}

/** Replaces a page that the caller may not use. The data of the page is not requested, because the gateway would refuse it. */
export function Forbidden(props: { label: string; action: string }): JSX.Element {
  const session = useSession();
  return (
    <section class="card" aria-labelledby="forbidden">
      <h1 id="forbidden">Your roles do not include the page {props.label}</h1>
      <p>
        <Prose text={requestFor(props.action, session)} />
      </p>
      <CopyButton label="Copy the request" text={() => messageFor(props.action, session)} />
    </section>
  );
}
