import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { whole } from '../lib/format.ts';
import { setQuery, useLocation } from '../lib/router.ts';
import type { Data } from '../lib/use-data.ts';
import { useNarrow } from '../lib/use-narrow.ts';
import { Loading, Name } from './basics.tsx';
import { ErrorNote } from './loaded.tsx';

/** Maximum entries of a list without virtual scrolling. */
export const MAX_SHOWN = 300;

interface Item {
  /** The value in the URL when the item is selected. */
  readonly name: string;
  /** What the list shows first; the name by default. */
  readonly title?: string;
  readonly note: string | undefined;
}

/** The search field of a list; its text is part of the URL. */
export function Search(props: { what: string }): JSX.Element {
  const { query } = useLocation();
  return (
    <input
      type="search"
      aria-label={`Search ${props.what}`}
      placeholder="Search"
      value={query.get('search') ?? ''}
      onInput={(event) => setQuery({ search: event.currentTarget.value }, true)}
    />
  );
}

/** A note below a list that is empty or truncated. */
export function ListEnd(props: { shown: number; loaded: boolean }): JSX.Element | null {
  if (props.loaded && props.shown === 0) return <p class="muted">Nothing found.</p>;
  if (props.shown <= MAX_SHOWN) return null;
  return (
    <p class="muted">
      Showing the first {whole(MAX_SHOWN)} of {whole(props.shown)}. Use the search to find others.
    </p>
  );
}

function Items(props: {
  items: readonly Item[];
  chosen: string | undefined;
  onChoose: (name: string) => void;
}): JSX.Element {
  return (
    <ul>
      {props.items.slice(0, MAX_SHOWN).map(({ name, title, note }) => (
        <li key={name}>
          <button
            type="button"
            class="item"
            aria-current={name === props.chosen ? 'true' : undefined}
            onClick={() => props.onChoose(name)}
          >
            <span>
              <Name text={title ?? name} />
            </span>
            {note && (
              <span class="muted">
                <Name text={note} />
              </span>
            )}
          </button>
        </li>
      ))}
    </ul>
  );
}

interface MasterDetailProps<T> {
  /** Plural and singular, such as `Roles` and `role`. */
  what: string;
  one: string;
  list: Pick<Data<readonly T[]>, 'value' | 'error' | 'reload'>;
  item: (entry: T) => Item;
  /** The dialog; calls back with the name of the created entry, or undefined when cancelled. Absent where nothing can be created. */
  renderNew?: ((onDone: (name: string | undefined) => void) => ComponentChildren) | undefined;
  detail: (name: string) => ComponentChildren;
}

function MasterList<T>(
  props: MasterDetailProps<T> & {
    chosen: string | undefined;
    onChoose: (name: string) => void;
    onNew: () => void;
  },
): JSX.Element {
  const { what, one, list } = props;
  const wanted = (useLocation().query.get('search') ?? '').toLowerCase();
  const shown = (list.value ?? [])
    .map((entry) => props.item(entry))
    .filter(({ title, name, note }) => `${title ?? name} ${note ?? ''}`.toLowerCase().includes(wanted));
  return (
    <section class="card master-list" aria-label={what}>
      <div class="row">
        <Search what={what} />
        {props.renderNew && (
          <button type="button" class="primary" onClick={props.onNew}>
            New {one}
          </button>
        )}
      </div>
      <ErrorNote message={list.error} retry={list.reload} />
      {list.value === undefined && list.error === undefined && <Loading what={what} />}
      <Items items={shown} chosen={props.chosen} onChoose={props.onChoose} />
      <ListEnd shown={shown.length} loaded={list.value !== undefined} />
    </section>
  );
}

function NothingChosen(props: { one: string; renderNew?: unknown }): JSX.Element {
  return (
    <p class="muted">
      Select a {props.one}
      {props.renderNew !== undefined && ' or create one'}.
    </p>
  );
}

/** A searchable list, the details of the selected entry, and a dialog to create an entry. */
export function MasterDetail<T>(props: MasterDetailProps<T>): JSX.Element {
  const { list } = props;
  const [creating, setCreating] = useState(false);
  const chosen = useLocation().query.get('name') ?? undefined;
  const detail = useRef<HTMLElement>(null);
  const picked = useRef(false);
  const narrow = useNarrow();
  // On a phone the details are below the list: scroll to them after a selection.
  useEffect(() => {
    if (picked.current) detail.current?.scrollIntoView({ block: narrow ? 'start' : 'nearest' });
    picked.current = false;
  }, [chosen]);
  const choose = (name: string): void => {
    picked.current = true;
    setQuery({ name });
  };
  return (
    <div class="master">
      <MasterList {...props} chosen={chosen} onChoose={choose} onNew={() => setCreating(true)} />
      <section class="master-detail" aria-live="polite" ref={detail}>
        {chosen === undefined ? <NothingChosen {...props} /> : props.detail(chosen)}
        {creating &&
          props.renderNew?.((name) => {
            setCreating(false);
            if (name === undefined) return;
            list.reload();
            setQuery({ name });
          })}
      </section>
    </div>
  );
}
