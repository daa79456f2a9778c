import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { Field } from './fields.tsx';

/** Maximum suggestions. The search finds the others. */
const MAX_SUGGESTIONS = 8;

/** Selects tables by search. A name that is not listed can be typed, also a pattern with `*`. */
export function TablePicker(props: {
  /** The tables that the caller may see. */
  names: readonly string[];
  value: readonly string[];
  onChange: (tables: string[]) => void;
}): JSX.Element {
  const { names, value, onChange } = props;
  const [wanted, setWanted] = useState('');
  const text = wanted.trim();
  const found =
    text === '' ? [] : names.filter((name) => !value.includes(name) && name.toLowerCase().includes(text.toLowerCase()));
  const exact = names.includes(text) || text.includes('*') ? text : undefined;
  const add = (name: string): void => {
    if (name !== '' && !value.includes(name)) onChange([...value, name]);
    setWanted('');
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
            onKeyDown={(event) => {
              if (event.key !== 'Enter' || text === '') return;
              event.preventDefault();
              add(exact ?? found[0] ?? text);
            }}
          />
          <div class="row picks">
            {value.map((name) => (
              <button
                type="button"
                class="chip small"
                key={name}
                aria-label={`Remove ${name}`}
                aria-pressed="true"
                onClick={() => onChange(value.filter((other) => other !== name))}
              >
                {name} ×
              </button>
            ))}
            {found.slice(0, MAX_SUGGESTIONS).map((name) => (
              <button type="button" class="chip small" key={name} aria-label={`Add ${name}`} onClick={() => add(name)}>
                + {name}
              </button>
            ))}
            {found.length > MAX_SUGGESTIONS && <span class="muted">and {found.length - MAX_SUGGESTIONS} more</span>}
          </div>
        </>
      )}
    </Field>
  );
}
