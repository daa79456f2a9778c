import type { JSX } from 'preact';
import { useSession } from '../lib/session.ts';
import type { Session } from '../lib/types.ts';
import { Prose } from './basics.tsx';
import { Contact, CopyRequest } from './refusal.tsx';

/** Predefined roles that allow an action on the cluster, as an example for the request for access. */
const ROLES: Readonly<Record<string, string>> = {
  GetHealth: 'health-reader',
  ExecuteTask: 'cluster-admin',
  SimulateAccess: 'rbac-admin',
  GetRole: 'rbac-admin',
};

/** What to ask for, in a text with code in backticks. */
function wantedFor(action: string, { me, environment, cluster }: Session): string {
  const role = ROLES[action];
  const example = role === undefined ? '' : `, such as \`${role}\``;
  const roles = me.roles.map(({ name }) => name).join(', ');
  return (
    ` for a role that allows \`${action}\` on the cluster \`${cluster}\` in \`${environment}\`${example}. ` +
    `You are signed in as \`${me.srn}\` with ${roles === '' ? 'no roles' : `the roles ${roles}`}.`
  );
}

/** Replaces a page that the caller may not use. The data of the page is not requested, because the gateway would refuse it. */
export function Forbidden(props: { label: string; action: string }): JSX.Element {
  const session = useSession();
  return (
    <section class="card" aria-labelledby="forbidden">
      <h1 id="forbidden">Your roles do not include the page {props.label}</h1>
      <p>
        Ask <Contact session={session} />
        <Prose text={wantedFor(props.action, session)} />
      </p>
      <CopyRequest refused={{ action: props.action, resource: undefined }} session={session} />
    </section>
  );
}
