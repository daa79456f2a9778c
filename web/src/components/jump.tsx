import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { call, rbac } from '../lib/api.ts';
import { navigate } from '../lib/router.ts';
import { useMay, useSession } from '../lib/session.ts';
import type { InstanceNames, PolicySummary, Role, TableNames } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { Name } from './basics.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';

/** Maximum places that are shown. A longer text finds fewer. */
const MAX_SHOWN = 12;

export interface Place {
  readonly kind: string;
  readonly name: string;
  /** Below /ui. */
  readonly path: string;
}

const placesIn =
  (kind: string, page: string) =>
  (name: string): Place => ({ kind, name, path: `/${page}&name=${encodeURIComponent(name)}` });

/** The names that the caller may read, of each kind; a list that cannot be read has none. */
function useNames(): readonly Place[] {
  const { access } = useSession();
  const mayInstances = useMay('GetInstance');
  const data = useData('places', async (signal) => {
    const read = async (may: boolean, load: () => Promise<Place[]>): Promise<Place[]> =>
      may ? load().catch(() => []) : [];
    const named = (list: readonly { readonly name: string }[], kind: string, page: string): Place[] =>
      list.map(({ name }) => placesIn(kind, page)(name));
    const lists = await Promise.all([
      read(true, async () => {
        const { tables } = await call<TableNames>('/tables', { signal });
        return tables.map(placesIn('table', 'cluster?tab=tables'));
      }),
      read(mayInstances, async () => {
        const { instances } = await call<InstanceNames>('/instances', { signal });
        return instances.map(placesIn('instance', 'cluster?tab=instances'));
      }),
      read(access['GetRole'] !== undefined, async () =>
        named(await call<Role[]>(rbac('/roles'), { signal }), 'role', 'access?tab=roles'),
      ),
      read(access['GetPolicy'] !== undefined, async () =>
        named(await call<PolicySummary[]>(rbac('/policies'), { signal }), 'policy', 'access?tab=policies'),
      ),
    ]);
    return lists.flat();
  });
  return data.value ?? [];
}

function placesWith(places: readonly Place[], text: string): readonly Place[] {
  const words = text.toLowerCase().split(/\s+/);
  const found: Place[] = [];
  for (const place of places) {
    const label = `${place.kind} ${place.name}`.toLowerCase();
    if (words.every((word) => label.includes(word))) found.push(place);
    if (found.length === MAX_SHOWN) break;
  }
  return found;
}

function Places(props: { places: readonly Place[]; at: number; onGo: (place: Place) => void }): JSX.Element {
  if (props.places.length === 0) return <p class="muted">Nothing found.</p>;
  return (
    <ul class="places" aria-label="Places">
      {props.places.map((place, index) => (
        <li key={place.path}>
          <button
            type="button"
            class="item"
            aria-current={index === props.at ? 'true' : undefined}
            onClick={() => props.onGo(place)}
          >
            <span>
              <Name text={place.name} /> <span class="muted">{place.kind}</span>
            </span>
          </button>
        </li>
      ))}
    </ul>
  );
}

/** Goes to a page, a table, an instance, a role or a policy by its name. @param props.pages the pages that the caller may open */
export function Jump(props: { pages: readonly Place[]; onClose: () => void }): JSX.Element {
  const [{ text, at }, setWanted] = useState({ text: '', at: 0 });
  const names = useNames();
  const found = placesWith([...props.pages, ...names], text);
  const go = ({ path }: Place): void => {
    props.onClose();
    navigate(path);
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const chosen = found[at];
    if (step !== undefined) setWanted({ text, at: Math.max(0, Math.min(found.length - 1, at + step)) });
    else if (event.key === 'Enter' && chosen) go(chosen);
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title="Go to" onClose={props.onClose}>
      <div onKeyDown={onKeyDown}>
        <TextField
          label="Page, table, instance, role or policy"
          hint="Arrows choose, Enter opens"
          value={text}
          onChange={(typed) => setWanted({ text: typed, at: 0 })}
        />
      </div>
      <Places places={found} at={at} onGo={go} />
    </Dialog>
  );
}
