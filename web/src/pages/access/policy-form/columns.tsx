import type { JSX } from 'preact';
import { SelectField } from '../../../components/fields.tsx';
import { NamePicker } from '../../../components/name-picker.tsx';
import { visible } from '../../../lib/visible.ts';
import { CodeField } from './code-field.tsx';
import { MASKS, type ColumnsForm } from './document.ts';
import { FieldError } from './field-error.tsx';

const RULES = [
  { value: 'all', label: 'all columns' },
  { value: 'allow', label: 'only these' },
  { value: 'deny', label: 'all but these' },
];

/** The value of the choice for an expression that is not in the list. */
const OWN = 'own';

/** What is read in place of one column: a choice, and its expression. */
function MaskField(props: {
  column: string;
  text: string;
  error: string | undefined;
  onChange: (text: string) => void;
}): JSX.Element {
  const { column, text, error, onChange } = props;
  const chosen = MASKS.findIndex((mask) => mask.of(column) === text);
  const name = visible(column);
  return (
    <li class="mask">
      <span class="mask-name">{name}</span>
      <select
        aria-label={`Mask of ${name}`}
        value={chosen < 0 ? OWN : String(chosen)}
        onChange={(event) => {
          const mask = MASKS[Number(event.currentTarget.value)];
          if (mask) onChange(mask.of(column));
        }}
      >
        {MASKS.map(({ label }, index) => (
          <option key={label} value={String(index)}>
            {label}
          </option>
        ))}
        <option value={OWN}>another expression</option>
      </select>
      <CodeField label={`Expression in place of ${name}`} value={text} onChange={onChange} error={error} />
    </li>
  );
}

interface ColumnsFieldsProps {
  value: ColumnsForm;
  onChange: (columns: ColumnsForm) => void;
  /** Of the table, as far as they are known. */
  known: readonly string[];
  table: string | undefined;
  /** @param field such as `allow` or `mask.mail` */
  errorAt: (field: string) => string | undefined;
}

function MaskFields(props: ColumnsFieldsProps): JSX.Element {
  const { value, onChange, known, table } = props;
  const { rule, names, mask } = value;
  const readable = known.filter((name) => rule === 'all' || names.includes(name) === (rule === 'allow'));
  const setMasked = (columns: readonly string[]): void => {
    const first = MASKS[0]!;
    onChange({ ...value, mask: Object.fromEntries(columns.map((name) => [name, mask[name] ?? first.of(name)])) });
  };
  return (
    <>
      <NamePicker
        label="Masked columns"
        hint="Another value is read in their place, in every clause of a query"
        names={readable}
        value={Object.keys(mask)}
        onChange={setMasked}
        verbs={{ add: 'Mask', remove: 'Do not mask' }}
        unknown={(unknown) => `Not a column of ${table ?? 'the table'} that can be read: ${unknown}.`}
      />
      <ul class="lines">
        {Object.entries(mask).map(([column, text]) => (
          <MaskField
            key={column}
            column={column}
            text={text}
            error={props.errorAt(`mask.${column.slice(0, 80)}`)}
            onChange={(changed) => onChange({ ...value, mask: { ...mask, [column]: changed } })}
          />
        ))}
      </ul>
    </>
  );
}

/** Which columns can be read, and what is read in place of some. */
export function ColumnsFields(props: ColumnsFieldsProps): JSX.Element {
  const { value, onChange, known, table } = props;
  const { rule, names } = value;
  return (
    <>
      <SelectField
        label="Columns"
        value={rule}
        options={RULES}
        onChange={(chosen) => onChange({ ...value, rule: chosen as ColumnsForm['rule'] })}
      />
      {rule !== 'all' && (
        <NamePicker
          label={rule === 'allow' ? 'Only these columns' : 'All columns but these'}
          hint="Enter adds the first match"
          names={known}
          suggests
          value={names}
          onChange={(chosen) => onChange({ ...value, names: chosen })}
          unknown={(unknown) => `Not a column of ${table ?? 'the table'}: ${unknown}.`}
        />
      )}
      {rule !== 'all' && <FieldError message={props.errorAt(rule)} />}
      <MaskFields {...props} />
      <FieldError message={props.errorAt('mask') ?? props.errorAt('')} />
    </>
  );
}
