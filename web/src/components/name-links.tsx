import type { JSX } from 'preact';
import { tableOf } from '../lib/entities.ts';
import { visible } from '../lib/visible.ts';
import { Link, Name } from './basics.tsx';

type Place =
  | 'access?tab=roles'
  | 'access?tab=policies'
  | 'access?tab=tokens'
  | 'cluster?tab=tables'
  | 'cluster?tab=instances';

function NameLink(props: { place: Place; name: string; text?: string }): JSX.Element | null {
  const { place, name, text = name } = props;
  if (name === '') return null;
  return (
    <Link to={`/${place}&name=${encodeURIComponent(name)}`} title={`What is known of ${visible(text)}`}>
      <Name text={text} />
    </Link>
  );
}

/** A link to the page of a role; nothing for an empty name. */
export const RoleLink = (props: { role: string }): JSX.Element => (
  <NameLink place="access?tab=roles" name={props.role} />
);

/** A link to the page of a policy; nothing for an empty name. */
export const PolicyLink = (props: { policy: string }): JSX.Element => (
  <NameLink place="access?tab=policies" name={props.policy} />
);

/** A link to the page of a service token. */
export const TokenLink = (props: { accessKey: string }): JSX.Element => (
  <NameLink place="access?tab=tokens" name={props.accessKey} />
);

/** A link to the page of a table, which is one page for both tables of a hybrid table. */
export const TableLink = (props: { table: string }): JSX.Element => (
  <NameLink place="cluster?tab=tables" name={tableOf(props.table)} text={props.table} />
);

/** A link to the page of an instance. */
export const InstanceLink = (props: { instance: string }): JSX.Element => (
  <NameLink place="cluster?tab=instances" name={props.instance} />
);
