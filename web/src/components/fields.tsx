import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { call, rbac } from '../lib/api.ts';
import { fieldOf, timeOfField, whole } from '../lib/format.ts';
import { usePreferences } from '../lib/preferences.ts';
import type { ServiceToken, Subject } from '../lib/types.ts';
import { useData } from '../lib/use-data.ts';
import { BusyButton } from './basics.tsx';

/** A form field with a label above and a hint below. */
export function Field(props: {
  label: string;
  hint?: string | undefined;
  children: (id: string, hintId: string | undefined) => ComponentChildren;
}): JSX.Element {
  const id = useId();
  const hintId = props.hint === undefined ? undefined : `${id}-hint`;
  return (
    <div class="field">
      <label for={id}>{props.label}</label>
      {props.children(id, hintId)}
      {props.hint !== undefined && (
        <p class="hint" id={hintId}>
          {props.hint}
        </p>
      )}
    </div>
  );
}

interface TextFieldProps {
  label: string;
  value: string;
  onChange: (value: string) => void;
  hint?: string;
  type?: 'password' | 'datetime-local';
  required?: boolean;
  autoFocus?: boolean;
  /** Suggested values, each with an explanation. */
  choices?: readonly Option[];
}

function TextInput(props: TextFieldProps & { id: string; hintId: string | undefined }): JSX.Element {
  const { choices, type } = props;
  const listId = useId();
  const input = useRef<HTMLInputElement>(null);
  // The attribute has an effect only while a page loads and when a dialog opens.
  useEffect(() => {
    if (props.autoFocus) input.current?.focus();
  }, []);
  const common = {
    id: props.id,
    'aria-describedby': props.hintId,
    autocomplete: 'off',
    spellcheck: false,
    required: props.required === true,
    autoFocus: props.autoFocus === true,
    ref: input,
    value: props.value,
    onInput: (event: { currentTarget: HTMLInputElement }) => props.onChange(event.currentTarget.value),
  } as const;
  if (type === 'password') return <input {...common} type="password" />;
  if (type === 'datetime-local') return <input {...common} type="datetime-local" />;
  if (!choices) return <input {...common} type="text" />;
  return (
    <>
      <input {...common} type="text" list={listId} />
      <datalist id={listId}>
        {choices.map(({ value, label }) => (
          <option key={value} value={value} label={label} />
        ))}
      </datalist>
    </>
  );
}

export function TextField(props: TextFieldProps): JSX.Element {
  return (
    <Field label={props.label} hint={props.hint}>
      {(id, hintId) => <TextInput {...props} id={id} hintId={hintId} />}
    </Field>
  );
}

export interface Option {
  readonly value: string;
  readonly label: string;
}

/** Options without an explanation. */
export const optionsOf = (values: readonly string[]): Option[] => values.map((value) => ({ value, label: value }));

/** More options are found by typing. */
const MAX_SELECT = 100;
const MAX_SUGGESTIONS = 50;

interface ChoiceProps {
  id?: string;
  /** Empty for none. */
  value: string;
  options: readonly Option[];
  onChange: (value: string) => void;
}

/** One of some options: a list, or a search where they are many. */
function Choice(props: ChoiceProps): JSX.Element {
  if (props.options.length > MAX_SELECT) return <SearchedChoice {...props} />;
  return (
    <select id={props.id} value={props.value} onChange={(event) => props.onChange(event.currentTarget.value)}>
      {props.options.map(({ value, label }) => (
        <option key={value} value={value}>
          {label}
        </option>
      ))}
    </select>
  );
}

function SearchedChoice({ id, value, options, onChange }: ChoiceProps): JSX.Element {
  const listId = useId();
  const labelled = (text: string): Option | undefined => options.find(({ label }) => label === text);
  const [text, setText] = useState(options.find((option) => option.value === value && value !== '')?.label ?? '');
  // The owner has used the choice. A text that is no option is still being typed.
  useEffect(() => {
    if (value === '' && labelled(text)) setText('');
  }, [value]);
  const found = options.filter(
    (option) => option.value !== '' && option.label.toLowerCase().includes(text.toLowerCase()),
  );
  return (
    <>
      <input
        id={id}
        type="text"
        list={listId}
        autocomplete="off"
        spellcheck={false}
        placeholder={`Search ${whole(options.length)}`}
        value={text}
        onInput={(event) => {
          setText(event.currentTarget.value);
          onChange(labelled(event.currentTarget.value)?.value ?? '');
        }}
      />
      <datalist id={listId}>
        {found.slice(0, MAX_SUGGESTIONS).map((option) => (
          <option key={option.value} value={option.label} />
        ))}
      </datalist>
    </>
  );
}

export function SelectField(props: {
  label: string;
  value: string;
  onChange: (value: string) => void;
  options: readonly Option[];
}): JSX.Element {
  return (
    <Field label={props.label}>
      {(id) => <Choice id={id} value={props.value} options={props.options} onChange={props.onChange} />}
    </Field>
  );
}

const SUBJECT_KINDS: readonly Option[] = [
  { value: 'user-email', label: 'a user' },
  { value: 'group', label: 'a group' },
  { value: 'domain', label: 'an e-mail domain' },
  { value: 'service-token', label: 'a service token' },
];

/** Hint for the subject field, by kind. */
const SUBJECT_HINTS: Readonly<Record<string, string>> = {
  'user-email': 'E-mail address',
  group: 'Name of the group',
  domain: 'Such as example.com',
};

export const NO_SUBJECT: Subject = { subjectType: 'user-email', subject: '' };

/** An access key, with the descriptions of the tokens that the caller may see. */
function AccessKeyField(props: { value: string; onChange: (value: string) => void }): JSX.Element {
  const tokens = useData('tokens', (signal) => call<ServiceToken[]>(rbac('/service-tokens'), { signal }));
  const choices = (tokens.value ?? []).flatMap(({ accessKey, description }) =>
    accessKey === undefined ? [] : [{ value: accessKey, label: description }],
  );
  const chosen = choices.find(({ value }) => value === props.value)?.label ?? '';
  return (
    <TextField
      label="Subject"
      hint={chosen === '' ? 'Access key' : `Token: ${chosen}`}
      required
      choices={choices}
      {...props}
    />
  );
}

/** Fields for a subject: kind and name. */
export function SubjectFields(props: {
  value: Subject;
  onChange: (value: Subject) => void;
  /** Whether the name has the focus at first. */
  autoFocus?: boolean;
}): JSX.Element {
  const { value, onChange } = props;
  const hint = SUBJECT_HINTS[value.subjectType];
  return (
    <>
      <SelectField
        label="Subject is"
        value={value.subjectType}
        onChange={(subjectType) => onChange({ ...value, subjectType })}
        options={SUBJECT_KINDS}
      />
      {value.subjectType === 'service-token' ? (
        <AccessKeyField value={value.subject} onChange={(subject) => onChange({ ...value, subject })} />
      ) : (
        <TextField
          label="Subject"
          {...(hint !== undefined && { hint })}
          required
          autoFocus={props.autoFocus === true}
          value={value.subject}
          onChange={(subject) => onChange({ ...value, subject })}
        />
      )}
    </>
  );
}

/** The end of something. The field shows it in the time zone of the page, which the hint names. */
export function UntilField(props: {
  /** ISO 8601; empty for no end. */
  value: string;
  onChange: (value: string) => void;
  label?: string;
  hint?: string;
}): JSX.Element {
  const { hint = 'Leave empty for no end', label = 'Until', value, onChange } = props;
  const { utc } = usePreferences();
  const zone = utc ? 'UTC' : Intl.DateTimeFormat().resolvedOptions().timeZone;
  return (
    <TextField
      type="datetime-local"
      label={label}
      hint={`${hint}; time zone ${zone}`}
      value={fieldOf(value, utc)}
      onChange={(typed) => onChange(timeOfField(typed, utc))}
    />
  );
}

/** A choice with a button for an action on the chosen option. */
export function Picker(props: {
  label: string;
  options: readonly Option[];
  action: string;
  disabled?: boolean;
  /** @returns whether the action succeeded; the choice is then reset */
  onPick: (value: string) => Promise<boolean>;
}): JSX.Element {
  const [pick, setPick] = useState('');
  return (
    <div class="row">
      <label class="inline">
        <span>{props.label}</span>
        <Choice value={pick} options={[{ value: '', label: 'choose…' }, ...props.options]} onChange={setPick} />
      </label>
      <BusyButton
        disabled={props.disabled === true || pick === ''}
        onPress={async () => {
          if (await props.onPick(pick)) setPick('');
        }}
      >
        {props.action}
      </BusyButton>
    </div>
  );
}
