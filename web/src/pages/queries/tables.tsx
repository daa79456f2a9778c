import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { VirtualList } from '../../components/virtual-list.tsx';
import { whole } from '../../lib/format.ts';
import type { Schemas } from './use-schemas.ts';

const ROW_HEIGHT = 32;

/** All tables that the caller may see, with a search, and the columns of those that the query names. */
export function Tables(props: {
  names: readonly string[];
  inQuery: Schemas['inQuery'];
  onPick: (table: string) => void;
}): JSX.Element | null {
  const { names, inQuery } = props;
  const [wanted, setWanted] = useState('');
  const shown = names.filter((name) => name.toLowerCase().includes(wanted.toLowerCase()));
  if (names.length === 0) return null;
  return (
    <details>
      <summary>
        {whole(names.length)} {names.length === 1 ? 'table' : 'tables'} available
      </summary>
      <label class="inline">
        <span>Search tables</span>
        <input type="search" value={wanted} onInput={(event) => setWanted(event.currentTarget.value)} />
      </label>
      {shown.length === 0 ? (
        <p class="muted">No table has this name.</p>
      ) : (
        <VirtualList
          key={wanted}
          count={shown.length}
          rowHeight={ROW_HEIGHT}
          maxHeight={ROW_HEIGHT * 8}
          label="Tables"
          render={(index) => {
            const name = shown[index] ?? '';
            return (
              <div role="listitem" class="table-name" key={name}>
                <button type="button" class="link" onClick={() => props.onPick(name)}>
                  {name}
                </button>
              </div>
            );
          }}
        />
      )}
      {inQuery.map(({ name, columns }) => (
        <p key={name}>
          <strong>{name}</strong> <span class="muted">{columns?.join(', ') ?? 'columns not known'}</span>
        </p>
      ))}
    </details>
  );
}
