import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { VirtualList } from '../../components/virtual-list.tsx';
import { matching, whole } from '../../lib/format.ts';
import { visible } from '../../lib/visible.ts';
import type { Schemas } from './use-schemas.ts';

const ROW_HEIGHT = 32;

function TableNamesList(props: { names: readonly string[]; onPick: (table: string) => void }): JSX.Element {
  const { names } = props;
  if (names.length === 0) return <p class="muted">No table has this name.</p>;
  return (
    <VirtualList
      count={names.length}
      rowHeight={ROW_HEIGHT}
      maxHeight={ROW_HEIGHT * 8}
      label="Tables"
      render={(index) => {
        const name = names[index] ?? '';
        return (
          <div role="listitem" class="table-name" key={name}>
            <button type="button" class="link" onClick={() => props.onPick(name)}>
              {visible(name)}
            </button>
          </div>
        );
      }}
    />
  );
}

/** All tables that the caller may see, with a search, and the columns of those that the query names. */
export function Tables(props: {
  names: readonly string[];
  inQuery: Schemas['inQuery'];
  onPick: (table: string) => void;
}): JSX.Element | null {
  const { names, inQuery } = props;
  const [wanted, setWanted] = useState('');
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
      <TableNamesList key={wanted} names={matching(names, wanted)} onPick={props.onPick} />
      {inQuery.map(({ name, columns }) => (
        <p key={name}>
          <strong>{visible(name)}</strong>{' '}
          <span class="muted">{columns === undefined ? 'columns not known' : visible(columns.join(', '))}</span>
        </p>
      ))}
    </details>
  );
}
