import type { JSX } from 'preact';
import { useContext } from 'preact/hooks';
import { grantPath, refusedIn, requestText, type Refused } from '../lib/refusal.ts';
import { mayGrant, SessionContext } from '../lib/session.ts';
import type { Session, Subject } from '../lib/types.ts';
import { CopyButton, Link } from './basics.tsx';

/** Whom to ask for access: the setting `ui-contact`, which may be a link. */
export function Contact(props: { session: Session }): JSX.Element {
  const { contact } = props.session;
  if (contact === null) return <>an administrator of olap-warden</>;
  if (!/^(?:https?:\/\/|mailto:)\S+$/.test(contact)) return <>{contact}</>;
  return (
    <a href={contact} target="_blank" rel="noreferrer">
      {contact.replace(/^mailto:/, '')}
    </a>
  );
}

/** A link to the form that grants what was refused; nothing for callers who may not grant, or where the form cannot. */
export function GrantLink(props: { refused: Refused; subject: Subject | undefined }): JSX.Element | null {
  const session = useContext(SessionContext);
  const path = grantPath(props.refused, props.subject);
  return session && path !== undefined && mayGrant(session) ? <Link to={path}>Grant this</Link> : null;
}

/** The request for what was refused, to be copied. */
export function CopyRequest(props: { refused: Refused; session: Session }): JSX.Element {
  return (
    <CopyButton label="Copy the request" text={() => requestText(props.refused, props.session, location.origin)} />
  );
}

/** What to do about a refusal: whom to ask and for what, or the form that grants it. Nothing for other messages. */
export function RefusalHelp(props: { message: string }): JSX.Element | null {
  const session = useContext(SessionContext);
  const refused = refusedIn(props.message);
  if (!session || !refused) return null;
  return (
    <span class="refusal">
      <span>
        Ask <Contact session={session} />.
      </span>
      <CopyRequest refused={refused} session={session} />
      <GrantLink refused={refused} subject={session.me.subjects[0]} />
    </span>
  );
}
