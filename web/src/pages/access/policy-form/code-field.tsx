import type { JSX, RefObject } from 'preact';
import { useId } from 'preact/hooks';
import { FieldError } from './field-error.tsx';

/** One line of SQL, with what the gateway says about it. */
export function CodeField(props: {
  label: string;
  value: string;
  onChange: (text: string) => void;
  error: string | undefined;
  placeholder?: string;
  fieldRef?: RefObject<HTMLInputElement | null>;
}): JSX.Element {
  const { error } = props;
  const id = useId();
  return (
    <div class="code-field">
      <input
        {...(props.fieldRef && { ref: props.fieldRef })}
        type="text"
        class="code"
        autocomplete="off"
        spellcheck={false}
        placeholder={props.placeholder}
        aria-label={props.label}
        aria-invalid={error !== undefined}
        aria-describedby={error === undefined ? undefined : id}
        value={props.value}
        onInput={(event) => props.onChange(event.currentTarget.value)}
      />
      <FieldError id={id} message={error} />
    </div>
  );
}
