import type { JSX } from 'preact';
import { useId, useState } from 'preact/hooks';
import { Badge, Prose } from '../../../components/basics.tsx';
import { optionsOf, SelectField, TextField } from '../../../components/fields.tsx';
import { NamePicker } from '../../../components/name-picker.tsx';
import { ACTIONS_BY_KIND } from '../../../lib/action-kinds.ts';
import { columnsOf } from '../../../lib/table-columns.ts';
import type { Policy } from '../../../lib/types.ts';
import { useData } from '../../../lib/use-data.ts';
import { visible } from '../../../lib/visible.ts';
import { meaningOf } from '../meaning.ts';
import { possibleActions } from '../policy-assist.ts';
import { ColumnsFields } from './columns.tsx';
import {
  changed,
  kindsOf,
  mayHaveConditions,
  NO_CONDITIONS,
  otherErrors,
  tablesIn,
  withConditions,
  type ConditionsForm,
  type Fields,
  type StatementForm,
} from './document.ts';
import { FieldError } from './field-error.tsx';
import { RowFilters } from './row-filters.tsx';

interface CardProps {
  index: number;
  statement: Fields;
  form: StatementForm | undefined;
  /** The tables that the caller may see. */
  tables: readonly string[];
  /** Errors of the gateway, by path in the document. */
  errors: ReadonlyMap<string, string>;
  isOpen: boolean;
  onChange: (statement: Fields) => void;
  onRemove: () => void;
}

type FormProps = CardProps & { readonly form: StatementForm };

/** An error at a field of the statement, or within it. */
function errorAt({ errors, index }: CardProps, field: string): string | undefined {
  const path = `statements[${index}]${field === '' ? '' : `.${field}`}`;
  return errors.get(path) ?? [...errors].find(([key]) => key.startsWith(`${path}[`))?.[1];
}

function ActionsField(props: FormProps): JSX.Element {
  const { form, statement, onChange } = props;
  const kinds = kindsOf(form.resources);
  return (
    <>
      <NamePicker
        label="Actions"
        hint="Enter adds the first match; * is a pattern, such as Get*. Without any: every action"
        names={possibleActions(kinds)}
        suggests={form.actions === undefined || form.actions.length === 0}
        value={form.actions ?? []}
        onChange={(actions) => onChange(changed(statement, { actions: actions.length === 0 ? undefined : actions }))}
        unknown={(names) => `No such action exists on these resources: ${names}.`}
      />
      <FieldError message={errorAt(props, 'actions')} />
    </>
  );
}

const KINDS = Object.keys(ACTIONS_BY_KIND);
const EVERYTHING = 'everything';
const TABLE = 'srn2:table#';

function ResourcesField(props: FormProps): JSX.Element {
  const { form, statement, tables, onChange } = props;
  const [kind, setKind] = useState(() => kindsOf(form.resources).find((one) => KINDS.includes(one)) ?? 'table');
  const srnOf = (name: string): string => (kind === EVERYTHING || name === '' ? '*' : `srn2:${kind}#${name}`);
  const known = tables.map((name) => TABLE + name);
  return (
    <>
      <div class="resources">
        <SelectField label="Kind" value={kind} options={optionsOf([...KINDS, EVERYTHING])} onChange={setKind} />
        <NamePicker
          label="Resources"
          hint="Enter adds the first match; a name, a pattern such as sales_*, or a whole resource name"
          names={[...(kind === 'table' ? known : []), srnOf('*')]}
          value={form.resources}
          suggests={form.resources.length === 0}
          nameOf={(text) => (text === '*' || text.startsWith('srn2:') ? text : srnOf(text))}
          onChange={(resources) => onChange(changed(statement, { resources }))}
          // Only tables are known.
          known={known.length === 0 ? [] : [...known, ...form.resources.filter((one) => !one.startsWith(TABLE))]}
          unknown={(unknown) => `You see no table ${unknown.replaceAll(TABLE, '')}.`}
        />
      </div>
      <FieldError message={errorAt(props, 'resources')} />
    </>
  );
}

function ConditionsFields(props: FormProps): JSX.Element {
  const { form, statement, tables } = props;
  const id = useId();
  const conditions = form.conditions ?? NO_CONDITIONS;
  const [table] = tablesIn([form], tables);
  // The names serve for suggestions: a user who may not read the schema can write any.
  const columns = useData(`columns ${table ?? ''}`, async (signal) =>
    table === undefined ? [] : (await columnsOf(table, signal)).map(({ name }) => name),
  );
  const set = (change: Partial<ConditionsForm>): void =>
    props.onChange(withConditions(statement, { ...conditions, ...change }));
  return (
    <section class="conditions" aria-labelledby={id}>
      <h4 id={id}>Rows and columns</h4>
      <RowFilters
        value={conditions.rowFilters}
        onChange={(rowFilters) => set({ rowFilters })}
        errorAt={(index) => props.errors.get(`statements[${props.index}].conditions.rowFilters[${index}]`)}
      />
      <ColumnsFields
        value={conditions.columns}
        onChange={(changedColumns) => set({ columns: changedColumns })}
        known={columns.value ?? []}
        table={table}
        errorAt={(field) => errorAt(props, `conditions.columns${field === '' ? '' : `.${field}`}`)}
      />
      <FieldError message={errorAt(props, 'conditions')} />
    </section>
  );
}

function Conditions(props: FormProps): JSX.Element | null {
  const { form } = props;
  const isPossible = mayHaveConditions(form);
  if (isPossible) return <ConditionsFields {...props} />;
  if (form.conditions === undefined)
    return form.effect === 'allow' ? (
      <p class="hint">
        To limit rows and columns, allow only <code>Query</code>, on tables.
      </p>
    ) : null;
  return (
    <>
      <p class="note note-warn" role="status">
        Rows and columns can be limited only where a statement allows the single action Query on tables.
      </p>
      <ConditionsFields {...props} />
    </>
  );
}

function StatementFields(props: FormProps): JSX.Element {
  const { form, statement, onChange } = props;
  return (
    <>
      {form.others.length > 0 && (
        <p class="note" role="status">
          Only JSON shows the fields {form.others.map(visible).join(', ')}. They stay as they are.
        </p>
      )}
      <div class="columns">
        <SelectField
          label="Effect"
          value={form.effect}
          options={optionsOf(['allow', 'deny'])}
          onChange={(effect) => onChange(changed(statement, { effect }))}
        />
        <TextField
          label="What for"
          value={form.description}
          onChange={(text) => onChange(changed(statement, { description: text === '' ? undefined : text }))}
        />
      </div>
      <ResourcesField {...props} />
      <ActionsField {...props} />
      <Conditions {...props} />
    </>
  );
}

/** A statement of a policy. */
export function StatementCard(props: CardProps): JSX.Element {
  const { index, statement, form, onRemove } = props;
  const [isOpen, setOpen] = useState(props.isOpen);
  const title = `Statement ${index + 1}`;
  const hasError = [...props.errors.keys()].some((path) => path.startsWith(`statements[${index}]`));
  return (
    <details class="statement" open={isOpen} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>
        <strong>{title}</strong> {form && <Badge tone={form.effect === 'allow' ? 'good' : 'bad'}>{form.effect}</Badge>}{' '}
        {hasError && <Badge tone="bad">error</Badge>}{' '}
        <span class="statement-meaning">
          {form ? visible(meaningOf([statement as Policy['policyDocument']['statements'][number]])) : ''}
        </span>
      </summary>
      {isOpen && (
        <fieldset>
          <legend class="sr-only">{title}</legend>
          {otherErrors(props.errors, index, form !== undefined).map((message) => (
            <FieldError key={message} message={message} />
          ))}
          {form ? (
            <StatementFields {...props} form={form} />
          ) : (
            <p class="note note-warn" role="status">
              <Prose text="Only JSON can edit this statement: it has a field in a form that is not known here." />
            </p>
          )}
          <button type="button" class="small" onClick={onRemove}>
            Remove statement {index + 1}
          </button>
        </fieldset>
      )}
    </details>
  );
}
