import type { JSX } from 'preact';
import { useLocation } from '../lib/router.ts';
import { Link } from './basics.tsx';

export interface Tab {
  /** The value of `tab` in the address. */
  readonly id: string;
  readonly label: string;
  readonly body: () => JSX.Element;
}

/** The parts of a page, one at a time. @param props.first the tab of an address without one, if it is among the tabs */
export function Tabs(props: { path: string; label: string; tabs: readonly Tab[]; first: string }): JSX.Element | null {
  const { path, tabs, first } = props;
  const wanted = useLocation().query.get('tab') ?? first;
  const tab = tabs.find(({ id }) => id === wanted) ?? tabs.find(({ id }) => id === first) ?? tabs[0];
  if (tab === undefined) return null;
  const Body = tab.body;
  return (
    <>
      <nav class="tabs" aria-label={props.label}>
        {tabs.map(({ id, label }) => (
          <Link key={id} to={`${path}?tab=${id}`} current={id === tab.id}>
            {label}
          </Link>
        ))}
      </nav>
      <Body key={tab.id} />
    </>
  );
}
