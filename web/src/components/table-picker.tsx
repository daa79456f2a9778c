import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { matching } from '../lib/format.ts';
import { visible } from '../lib/visible.ts';
import { Name } from './basics.tsx';
import { Field } from './fields.tsx';

/** Maximum suggestions. The search finds the others. */
const MAX_SUGGESTIONS = 8;

/** @param props.names the tables that the caller may see; empty if they are not known */
function PickedTables(props: {
  value: readonly string[];
  names: readonly string[];
  onRemove: (name: string) => void;
}): JSX.Element {
  const known = new Set(props.names);
  const unknown = props.value.filter((name) => known.size > 0 && !name.includes('*') && !known.has(name));
  return (
    <>
      {props.value.map((name) => (
        <button
          type="button"
          class="chip small"
          key={name}
          aria-label={`Remove ${visible(name)}`}
          aria-pressed="true"
          onClick={() => props.onRemove(name)}
        >
          <Name text={name} /> ×
        </button>
      ))}
      {unknown.length > 0 && (
        <span class="note note-warn" role="status">
          You see no table {unknown.map(visible).join(', ')}.
        </span>
      )}
    </>
  );
}

function FoundTables(props: { found: readonly string[]; onAdd: (name: string) => void }): JSX.Element {
  const more = props.found.length - MAX_SUGGESTIONS;
  return (
    <>
      {props.found.slice(0, MAX_SUGGESTIONS).map((name) => (
        <button
          type="button"
          class="chip small"
          key={name}
          aria-label={`Add ${visible(name)}`}
          onClick={() => props.onAdd(name)}
        >
          + <Name text={name} />
        </button>
      ))}
      {more > 0 && <span class="muted">and {more} more</span>}
    </>
  );
}

interface TablePickerProps {
  /** The tables that the caller may see. */
  names: readonly string[];
  value: readonly string[];
  onChange: (tables: string[]) => void;
}

/** Selects tables by search. A name that is not listed can be typed, also a pattern with `*`. */
export function TablePicker(props: TablePickerProps): JSX.Element {
  const { names, value, onChange } = props;
  const [wanted, setWanted] = useState('');
  const text = wanted.trim();
  const found = text === '' ? [] : matching(names, text).filter((name) => !value.includes(name));
  const exact = names.includes(text) || text.includes('*') ? text : undefined;
  const add = (name: string): void => {
    if (name !== '' && !value.includes(name)) onChange([...value, name]);
    setWanted('');
  };
  const remove = (name: string): void => onChange(value.filter((other) => other !== name));
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || text === '') return;
    event.preventDefault();
    add(exact ?? found[0] ?? text);
  };
  return (
    <Field label="Tables" hint="Enter adds the first match; * is a pattern, such as sales.*">
      {(id, hintId) => (
        <>
          <input
            id={id}
            type="text"
            autocomplete="off"
            spellcheck={false}
            aria-describedby={hintId}
            value={wanted}
            onInput={(event) => setWanted(event.currentTarget.value)}
            onKeyDown={onKeyDown}
          />
          <div class="row picks">
            <PickedTables names={names} value={value} onRemove={remove} />
            <FoundTables found={found} onAdd={add} />
          </div>
        </>
      )}
    </Field>
  );
}
