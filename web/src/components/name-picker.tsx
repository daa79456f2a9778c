import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { matching } from '../lib/format.ts';
import { visible } from '../lib/visible.ts';
import { Name } from './basics.tsx';
import { Field } from './fields.tsx';

/** Maximum suggestions. The search finds the others. */
const MAX_SUGGESTIONS = 8;
/** Maximum chosen names that are shown as buttons. */
const MAX_PICKED = 300;

function PickedNames(props: {
  value: readonly string[];
  warning: string | undefined;
  verb: string;
  onRemove: (name: string) => void;
}): JSX.Element {
  const { value, warning, onRemove } = props;
  return (
    <>
      {value.slice(0, MAX_PICKED).map((name) => (
        <button
          type="button"
          class="chip small"
          key={name}
          aria-label={`${props.verb} ${visible(name)}`}
          aria-pressed="true"
          onClick={() => onRemove(name)}
        >
          <Name text={name} /> ×
        </button>
      ))}
      {value.length > MAX_PICKED && <span class="muted">and {value.length - MAX_PICKED} more</span>}
      {warning !== undefined && (
        <span class="note note-warn" role="status">
          {warning}
        </span>
      )}
    </>
  );
}

function FoundNames(props: { found: readonly string[]; verb: string; onAdd: (name: string) => void }): JSX.Element {
  const more = props.found.length - MAX_SUGGESTIONS;
  return (
    <>
      {props.found.slice(0, MAX_SUGGESTIONS).map((name) => (
        <button
          type="button"
          class="chip small"
          key={name}
          aria-label={`${props.verb} ${visible(name)}`}
          onClick={() => props.onAdd(name)}
        >
          + <Name text={name} />
        </button>
      ))}
      {more > 0 && <span class="muted">and {more} more</span>}
    </>
  );
}

/** The chosen names that are not known. Patterns are no names. */
function unknownAmong(value: readonly string[], names: readonly string[]): string[] {
  const known = new Set(names);
  return value.filter((name) => known.size > 0 && !name.includes('*') && !known.has(name));
}

interface NamePickerProps {
  label: string;
  hint: string;
  /** The names to choose from. */
  names: readonly string[];
  value: readonly string[];
  onChange: (names: string[]) => void;
  /** Whether names are suggested before anything is typed. */
  suggests?: boolean;
  /** The name that a typed text means; by default the text. */
  nameOf?: (text: string) => string;
  /** What a button does with a name, for screen readers; `Add` and `Remove` by default. */
  verbs?: { readonly add: string; readonly remove: string };
  /** The names that exist, empty while they are not known; by default `names`. */
  known?: readonly string[];
  /** The warning for names that are not known. */
  unknown: (names: string) => string;
}

const VERBS = { add: 'Add', remove: 'Remove' };

interface Picking {
  readonly wanted: string;
  readonly setWanted: (text: string) => void;
  /** What the search finds. */
  readonly found: readonly string[];
  readonly add: (name: string) => void;
  readonly onKeyDown: (event: KeyboardEvent) => void;
}

function usePicking(props: NamePickerProps): Picking {
  const { names, value, onChange, nameOf = (name) => name } = props;
  const [wanted, setWanted] = useState('');
  const text = wanted.trim();
  const isSearched = text !== '' || props.suggests === true;
  const found = isSearched ? matching(names, text).filter((name) => !value.includes(name)) : [];
  const add = (name: string): void => {
    if (name !== '' && !value.includes(name)) onChange([...value, name]);
    setWanted('');
  };
  const onKeyDown = (event: KeyboardEvent): void => {
    if (event.key !== 'Enter' || text === '') return;
    event.preventDefault();
    const typed = nameOf(text);
    add(names.includes(typed) || text.includes('*') ? typed : (found[0] ?? typed));
  };
  return { wanted, setWanted, found, add, onKeyDown };
}

/** Selects names by search. A name that is not listed can be typed, also a pattern with `*`. */
export function NamePicker(props: NamePickerProps): JSX.Element {
  const { names, value, onChange, verbs = VERBS } = props;
  const { wanted, setWanted, found, add, onKeyDown } = usePicking(props);
  const unknown = unknownAmong(value, props.known ?? names);
  return (
    <Field label={props.label} hint={props.hint}>
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
            <PickedNames
              value={value}
              warning={unknown.length === 0 ? undefined : props.unknown(unknown.map(visible).join(', '))}
              verb={verbs.remove}
              onRemove={(name) => onChange(value.filter((other) => other !== name))}
            />
            <FoundNames found={found} verb={verbs.add} onAdd={add} />
          </div>
        </>
      )}
    </Field>
  );
}

/** Selects tables. */
export function TablePicker(props: Pick<NamePickerProps, 'names' | 'value' | 'onChange'>): JSX.Element {
  return (
    <NamePicker
      {...props}
      label="Tables"
      hint="Enter adds the first match; * is a pattern, such as sales.*"
      unknown={(names) => `You see no table ${names}.`}
    />
  );
}
