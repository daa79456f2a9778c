import type { JSX } from 'preact';
import { useRef } from 'preact/hooks';
import { useSession } from '../../../lib/session.ts';
import { CodeField } from './code-field.tsx';

/** The values of a caller that every gateway knows. */
const VALUES = ['subject.email', 'subject.user', 'subject.domain', 'subject.groups', 'subject.token'];

/** The text of a value for the place before which `before` stands: groups are a list. */
function valueText(name: string, before: string): string {
  const value = `\${${name}}`;
  return name === 'subject.groups' && !/[(,]\s*$/.test(before) ? `IN (${value})` : value;
}

/** A menu that inserts a value of the caller. */
function ValueMenu(props: { label: string; onPick: (name: string) => void }): JSX.Element {
  const { me } = useSession();
  const names = [...new Set([...VALUES, ...Object.keys(me.values)])];
  return (
    <select aria-label={props.label} value="" onChange={(event) => props.onPick(event.currentTarget.value)}>
      <option value="">value of the caller…</option>
      {names.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}

interface RowFilterProps {
  number: number;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
  onRemove: () => void;
}

function RowFilter(props: RowFilterProps): JSX.Element {
  const { number, text, error, onChange } = props;
  const field = useRef<HTMLInputElement>(null);
  const insert = (name: string): void => {
    const { selectionStart, selectionEnd } = field.current ?? {};
    const [from, to] = [selectionStart ?? text.length, selectionEnd ?? text.length];
    const before = text.slice(0, from);
    const inserted = `${before === '' || /[\s(]$/.test(before) ? '' : ' '}${valueText(name, before)}`;
    onChange(before + inserted + text.slice(to));
    const cursor = from + inserted.length;
    // The field has the new text after the next frame.
    requestAnimationFrame(() => {
      field.current?.focus();
      field.current?.setSelectionRange(cursor, cursor);
    });
  };
  return (
    <li class="row-filter">
      <CodeField
        fieldRef={field}
        label={`Row filter ${number}`}
        placeholder="region = 'eu'"
        value={text}
        onChange={onChange}
        error={error}
      />
      <ValueMenu label={`Insert a value of the caller into row filter ${number}`} onPick={insert} />
      <button type="button" class="small" aria-label={`Remove row filter ${number}`} onClick={props.onRemove}>
        Remove
      </button>
    </li>
  );
}

/** Maximum row filters of a statement. */
const MAX_FILTERS = 10;

/** The conditions on rows, all of which hold. */
export function RowFilters(props: {
  value: readonly string[];
  onChange: (filters: string[]) => void;
  errorAt: (index: number) => string | undefined;
}): JSX.Element {
  const { value, onChange } = props;
  const list = useRef<HTMLUListElement>(null);
  const add = (): void => {
    onChange([...value, '']);
    requestAnimationFrame(() => list.current?.querySelector<HTMLInputElement>('li:last-child input')?.focus());
  };
  return (
    <div class="field">
      <span class="label">Rows</span>
      <p class="hint">
        {value.length === 0
          ? 'All rows can be read.'
          : 'Only rows for which all of these are true: columns, literals, comparisons, IN, LIKE, BETWEEN, IS NULL, AND, OR, NOT and plain functions.'}
      </p>
      <ul class="lines" ref={list}>
        {value.map((text, index) => (
          <RowFilter
            key={index}
            number={index + 1}
            text={text}
            error={props.errorAt(index)}
            onChange={(changed) => onChange(value.map((old, at) => (at === index ? changed : old)))}
            onRemove={() => onChange(value.filter((_, at) => at !== index))}
          />
        ))}
      </ul>
      <button type="button" class="small" disabled={value.length >= MAX_FILTERS} onClick={add}>
        Add a row filter
      </button>
    </div>
  );
}
