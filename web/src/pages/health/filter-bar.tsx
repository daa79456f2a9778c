import type { JSX } from 'preact';
import { useId } from 'preact/hooks';
import { setQuery } from '../../lib/router.ts';
import type { CheckEntry } from '../../lib/types.ts';
import { countStates, type CheckState } from './check-state.ts';
import { entitiesOf, type Filters } from './filter-checks.ts';

/** Maximum suggested names. Others can be typed. */
const MAX_SUGGESTIONS = 200;

const CHOICES: readonly { state: CheckState; label: string }[] = [
  { state: 'FAIL', label: 'Failing' },
  { state: 'UNREAD', label: 'Not read' },
  { state: 'MUTED', label: 'Muted' },
  { state: 'PASS', label: 'Passing' },
];

/** A filter as text, with the names that findings have. */
function NameFilter(props: {
  name: keyof Filters;
  label: string;
  value: string;
  names?: readonly string[];
}): JSX.Element {
  const listId = useId();
  const { names = [] } = props;
  return (
    <label class="inline">
      <span>{props.label}</span>
      <input
        type="search"
        value={props.value}
        list={names.length > 0 ? listId : undefined}
        onInput={(event) => setQuery({ [props.name]: event.currentTarget.value }, true)}
      />
      <datalist id={listId}>
        {names.slice(0, MAX_SUGGESTIONS).map((name) => (
          <option key={name} value={name} />
        ))}
      </datalist>
    </label>
  );
}

export function FilterBar(props: { filters: Filters; checks: readonly CheckEntry[] }): JSX.Element {
  const { filters, checks } = props;
  const counts = countStates(checks);
  const { tables, instances } = entitiesOf(checks);
  const choice = (value: string, label: string, count: number): JSX.Element => (
    <button
      type="button"
      class="chip"
      key={value}
      aria-pressed={filters.status === value}
      onClick={() => setQuery({ status: value })}
    >
      {label} {count}
    </button>
  );
  const isFiltered = Object.values(filters).some((value) => value !== '');
  return (
    <div class="filters" role="search" aria-label="Filter the checks">
      <div class="chips">
        {choice('', 'All', checks.length)}
        {CHOICES.filter(({ state }) => counts[state] > 0 || filters.status === state || state === 'FAIL').map(
          ({ state, label }) => choice(state, label, counts[state]),
        )}
      </div>
      <NameFilter name="table" label="Table" value={filters.table} names={tables} />
      <NameFilter name="instance" label="Instance" value={filters.instance} names={instances} />
      <NameFilter name="text" label="Text" value={filters.text} />
      {isFiltered && (
        <button
          type="button"
          class="small"
          onClick={() => setQuery({ status: undefined, table: undefined, instance: undefined, text: undefined })}
        >
          Clear filters
        </button>
      )}
    </div>
  );
}
