import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { Prose } from '../../../components/basics.tsx';
import {
  errorsByPath,
  formOf,
  readDocument,
  tablesIn,
  valuesIn,
  withStatements,
  type Fields,
  type ReadDocument,
  type StatementForm,
} from './document.ts';
import { FieldError } from './field-error.tsx';
import { Preview, useTrial } from './preview.tsx';
import { StatementCard } from './statement-card.tsx';
import { useCheck } from './use-check.ts';

/** Statements of a longer document are edited as JSON. */
const MAX_CARDS = 100;
/** Documents with more statements begin with closed ones. */
const MAX_OPEN = 3;
/** Tables to choose from in the preview. */
const MAX_TABLES = 500;

const NEW_STATEMENT: Fields = { effect: 'allow', actions: ['Query'], resources: [] };

interface PolicyFormProps {
  /** The document as JSON: the only state of the form. */
  text: string;
  onChange: (text: string) => void;
  /** Of the last attempt to save. */
  serverError: string | undefined;
  /** The tables that the caller may see. */
  tables: readonly string[];
}

interface CardsProps extends PolicyFormProps {
  read: ReadDocument;
  forms: readonly (StatementForm | undefined)[];
  errors: ReadonlyMap<string, string>;
}

function Cards(props: CardsProps): JSX.Element {
  const { read, forms, errors, tables, onChange } = props;
  const { statements } = read;
  const [added, setAdded] = useState<number>();
  const replace = (index: number, statement?: Fields): void =>
    onChange(withStatements(read, statements.toSpliced(index, 1, ...(statement === undefined ? [] : [statement]))));
  const add = (): void => {
    setAdded(statements.length);
    onChange(withStatements(read, [...statements, NEW_STATEMENT]));
  };
  return (
    <>
      {forms.slice(0, MAX_CARDS).map((form, index) => (
        <StatementCard
          key={index}
          index={index}
          statement={statements[index]!}
          form={form}
          tables={tables}
          errors={errors}
          isOpen={statements.length <= MAX_OPEN || index === added}
          onChange={(statement) => replace(index, statement)}
          onRemove={() => replace(index)}
        />
      ))}
      {statements.length > MAX_CARDS && (
        <p class="note" role="status">
          {statements.length - MAX_CARDS} further statements are shown as JSON only.
        </p>
      )}
      <div class="row">
        <button type="button" onClick={add}>
          Add a statement
        </button>
      </div>
    </>
  );
}

function Statements(props: PolicyFormProps & { read: ReadDocument }): JSX.Element {
  const { read, text, serverError, tables } = props;
  const forms = useMemo(() => read.statements.map(formOf), [read]);
  const names = useMemo(() => tablesIn(forms, tables).slice(0, MAX_TABLES), [forms, tables]);
  const trial = useTrial(
    names,
    useMemo(() => valuesIn(forms), [forms]),
  );
  const check = useCheck(text, trial.trial);
  const message = serverError ?? check.checked?.invalid;
  const errors = useMemo(() => errorsByPath(message ?? ''), [message]);
  return (
    <>
      {errors.size === 0 && <FieldError message={message} />}
      <Cards {...props} forms={forms} errors={errors} />
      <Preview form={trial} check={check} />
    </>
  );
}

/** Enter in a field would submit the form around, which creates the policy. */
function keepEnter(event: KeyboardEvent): void {
  if (event.key === 'Enter' && event.target instanceof HTMLInputElement) event.preventDefault();
}

/** A policy document as a form. What it cannot show stays as it is, or is named as something that only JSON can edit. */
export function PolicyForm(props: PolicyFormProps): JSX.Element {
  const read = useMemo(() => readDocument(props.text), [props.text]);
  if (typeof read !== 'string')
    return (
      <div class="policy-form" onKeyDown={keepEnter}>
        <Statements {...props} read={read} />
      </div>
    );
  return (
    <p class="note note-warn" role="status">
      <Prose text={`${read} Only JSON can edit it.`} />
    </p>
  );
}
