import type { JSX } from 'preact';
import { Link, Name } from './basics.tsx';

function NameLink(props: { tab: 'roles' | 'policies' | 'tokens'; name: string }): JSX.Element | null {
  if (props.name === '') return null;
  return (
    <Link to={`/access?tab=${props.tab}&name=${encodeURIComponent(props.name)}`}>
      <Name text={props.name} />
    </Link>
  );
}

/** A link to the page of a role; nothing for an empty name. */
export const RoleLink = (props: { role: string }): JSX.Element => <NameLink tab="roles" name={props.role} />;

/** A link to the page of a policy; nothing for an empty name. */
export const PolicyLink = (props: { policy: string }): JSX.Element => <NameLink tab="policies" name={props.policy} />;

/** A link to the page of a service token. */
export const TokenLink = (props: { accessKey: string }): JSX.Element => (
  <NameLink tab="tokens" name={props.accessKey} />
);
