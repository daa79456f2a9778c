import type { ComponentChildren, JSX } from 'preact';
import { nameOf, whole } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import { ErrorNote, Loading, When } from '../../components/basics.tsx';
import type { Authored } from '../../lib/types.ts';

/** Entries that a list without virtual scrolling bears. */
const MAX_SHOWN = 300;

/** A searchable list at the left, what is chosen at the right; the choice and the search stand in the URL. */
export function MasterDetail(props: {
  what: string;
  items: readonly { name: string; note?: string | undefined }[] | undefined;
  error: string | undefined;
  reload: () => void;
  search: string;
  chosen: string | undefined;
  actions: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const wanted = props.search.toLowerCase();
  const shown = (props.items ?? []).filter((item) => `${item.name} ${item.note ?? ''}`.toLowerCase().includes(wanted));
  return (
    <div class="master">
      <section class="card master-list" aria-label={props.what}>
        <div class="row">
          <input
            type="search"
            aria-label={`Search ${props.what}`}
            placeholder="Search"
            value={props.search}
            onInput={(event) => setQuery({ search: event.currentTarget.value })}
          />
          {props.actions}
        </div>
        <ErrorNote message={props.error} retry={props.reload} />
        {props.items === undefined && props.error === undefined && <Loading what={props.what} />}
        <ul>
          {shown.slice(0, MAX_SHOWN).map((item) => (
            <li key={item.name}>
              <button
                type="button"
                class="item"
                aria-current={item.name === props.chosen ? 'true' : undefined}
                onClick={() => setQuery({ name: item.name })}
              >
                <span>{item.name}</span>
                {item.note && <span class="muted">{item.note}</span>}
              </button>
            </li>
          ))}
        </ul>
        {shown.length > MAX_SHOWN && (
          <p class="muted">
            The first {whole(MAX_SHOWN)} of {whole(shown.length)} are shown: search for others.
          </p>
        )}
        {props.items !== undefined && shown.length === 0 && <p class="muted">Nothing found.</p>}
      </section>
      <section class="master-detail" aria-live="polite">
        {props.children}
      </section>
    </div>
  );
}

/** The author of the roles and policies that olap-warden brings along; they cannot be changed. */
export const isPredefined = (resource: Authored): boolean => resource.createdBy === 'platform-rbac-manager';

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
      {resource.managedBy && resource.managedBy.length > 0 && (
        <div class="note note-warn" role="note">
          This resource is managed by {resource.managedBy.join(', ')}. What you change here may be changed back from
          there: better change it at its source.
        </div>
      )}
    </>
  );
}
