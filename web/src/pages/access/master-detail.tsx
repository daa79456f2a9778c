import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Badge, ErrorNote, Loading, When } from '../../components/basics.tsx';
import { nameOf, whole } from '../../lib/format.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { Authored } from '../../lib/types.ts';
import type { Data } from '../../lib/use-data.ts';

/** Entries that a list without virtual scrolling bears. */
export const MAX_SHOWN = 300;

export interface Item {
  /** What stands in the address when it is chosen. */
  readonly name: string;
  readonly note: string | undefined;
}

/** The search of a list; it stands in the address. */
export function Search(props: { what: string }): JSX.Element {
  const { query } = useLocation();
  return (
    <input
      type="search"
      aria-label={`Search ${props.what}`}
      placeholder="Search"
      value={query.get('search') ?? ''}
      onInput={(event) => setQuery({ search: event.currentTarget.value })}
    />
  );
}

/** Said under a list that is empty, or longer than what is shown of it. */
export function ListEnd(props: { shown: number; loaded: boolean }): JSX.Element | null {
  if (props.loaded && props.shown === 0) return <p class="muted">Nothing found.</p>;
  if (props.shown <= MAX_SHOWN) return null;
  return (
    <p class="muted">
      The first {whole(MAX_SHOWN)} of {whole(props.shown)} are shown: search for others.
    </p>
  );
}

/** A searchable list at the left, what is chosen at the right, and a dialog that makes another one. */
export function MasterDetail<T>(props: {
  /** Many of them, and one, as in `Roles` and `role`. */
  what: string;
  one: string;
  list: Data<readonly T[]>;
  item: (entry: T) => Item;
  /** The dialog; calls back with the name of what it made, or with undefined. */
  make: (onDone: (name: string | undefined) => void) => ComponentChildren;
  detail: (name: string) => ComponentChildren;
}): JSX.Element {
  const { what, one, list } = props;
  const { query } = useLocation();
  const [making, setMaking] = useState(false);
  const chosen = query.get('name') ?? undefined;
  const detail = useRef<HTMLElement>(null);
  const picked = useRef(false);
  // Where the detail is below the list, as on a phone, who has picked something is led there.
  useEffect(() => {
    if (picked.current) detail.current?.scrollIntoView({ block: 'nearest' });
    picked.current = false;
  }, [chosen]);
  const wanted = (query.get('search') ?? '').toLowerCase();
  const shown = (list.value ?? [])
    .map((entry) => props.item(entry))
    .filter(({ name, note }) => `${name} ${note ?? ''}`.toLowerCase().includes(wanted));
  return (
    <div class="master">
      <section class="card master-list" aria-label={what}>
        <div class="row">
          <Search what={what} />
          <button type="button" class="primary" onClick={() => setMaking(true)}>
            New {one}
          </button>
        </div>
        <ErrorNote message={list.error} retry={list.reload} />
        {list.value === undefined && list.error === undefined && <Loading what={what} />}
        <ul>
          {shown.slice(0, MAX_SHOWN).map(({ name, note }) => (
            <li key={name}>
              <button
                type="button"
                class="item"
                aria-current={name === chosen ? 'true' : undefined}
                onClick={() => {
                  picked.current = true;
                  setQuery({ name });
                }}
              >
                <span>{name}</span>
                {note && <span class="muted">{note}</span>}
              </button>
            </li>
          ))}
        </ul>
        <ListEnd shown={shown.length} loaded={list.value !== undefined} />
      </section>
      <section class="master-detail" aria-live="polite" ref={detail}>
        {chosen === undefined ? <p class="muted">Choose a {one}, or make one.</p> : props.detail(chosen)}
        {making &&
          props.make((name) => {
            setMaking(false);
            if (name === undefined) return;
            list.reload();
            setQuery({ name });
          })}
      </section>
    </div>
  );
}

/** The author of the roles and policies that olap-warden brings along; they cannot be changed. */
export const isPredefined = (resource: Authored): boolean => resource.createdBy === 'platform-rbac-manager';

/** Warns before an edit of what something else writes, too. */
export function ManagedNote(props: { by: readonly string[] | undefined }): JSX.Element | null {
  if (!props.by || props.by.length === 0) return null;
  return (
    <div class="note note-warn" role="note">
      This resource is managed by {props.by.join(', ')}. What you change here may be changed back from there: better
      change it at its source.
    </div>
  );
}

/** The same for a row of a list. */
export function ManagedBadge(props: { by: readonly string[] | undefined }): JSX.Element | null {
  if (!props.by || props.by.length === 0) return null;
  return (
    <span title="What you change here may be changed back from there.">
      <Badge tone="warn">managed by {props.by.join(', ')}</Badge>
    </span>
  );
}

/** Who made it and when, and whether something else manages it, so that an edit here may be undone by it. */
export function Authorship(props: { resource: Authored }): JSX.Element {
  const { resource } = props;
  return (
    <>
      <p class="muted">
        made <When time={resource.createdAt} /> by {nameOf(resource.createdBy)} · changed{' '}
        <When time={resource.lastUpdatedAt} /> by {nameOf(resource.lastUpdatedBy)}
      </p>
      {isPredefined(resource) && <p class="muted">Predefined: it can be assigned and attached, not changed.</p>}
      <ManagedNote by={resource.managedBy} />
    </>
  );
}
