import type { JSX } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { BusyButton, Name, Prose } from '../../../components/basics.tsx';
import { ErrorNote } from '../../../components/loaded.tsx';
import { Field, optionsOf, SelectField, TextField } from '../../../components/fields.tsx';
import { Table } from '../../../components/table.tsx';
import { messageOfError } from '../../../lib/api.ts';
import { cellOf } from '../../../lib/exact-json.ts';
import { useSession } from '../../../lib/session.ts';
import type { PolicyPreview } from '../../../lib/types.ts';
import { useDraftOr } from '../../../lib/use-draft.ts';
import { visible, visibleText } from '../../../lib/visible.ts';
import { queryOf } from './document.ts';
import { firstRows, MAX_ROWS, type FirstRows } from './first-rows.ts';
import type { Check, Trial } from './use-check.ts';

/** What the user tries: kept as unsaved input is. */
interface Tried {
  /** Undefined: the first table. */
  readonly table: string | undefined;
  /** Undefined: all columns of the table. */
  readonly sql: string | undefined;
  /** As typed, by name; a name that is absent has the value of the user. */
  readonly values: Readonly<Record<string, string>>;
}

const NOTHING: Tried = { table: undefined, sql: undefined, values: {} };

/** The trial of a preview, and its fields. */
export interface TrialForm {
  readonly trial: Trial;
  readonly table: string | undefined;
  readonly tables: readonly string[];
  /** As shown, by name. */
  readonly values: Readonly<Record<string, string>>;
  readonly set: (change: Partial<Tried>) => void;
}

/** Groups are a list, with commas between them. */
function valuesOf(name: string, text: string): string[] {
  const values = name === 'subject.groups' ? text.split(',') : [text];
  return values.map((value) => value.trim()).filter((value) => value !== '');
}

/** @param tables that can be tried @param names of the values that row filters use */
export function useTrial(tables: readonly string[], names: readonly string[]): TrialForm {
  const { me } = useSession();
  const [tried, setTried] = useDraftOr<Tried>('policy-preview', NOTHING);
  const table = tables.find((name) => name === tried.table) ?? tables[0];
  const sql = (table === tried.table ? tried.sql : undefined) ?? (table === undefined ? undefined : queryOf(table));
  const values = Object.fromEntries(
    names.map((name) => [name, tried.values[name] ?? (me.values[name] ?? []).join(', ')]),
  );
  return {
    trial: {
      sql: sql?.trim() === '' ? undefined : sql,
      values: Object.fromEntries(Object.entries(values).map(([name, text]) => [name, valuesOf(name, text)])),
    },
    table,
    tables,
    values,
    set: (change) => setTried({ ...tried, table, ...change }),
  };
}

function TrialFields(props: { form: TrialForm }): JSX.Element {
  const { table = '', tables, trial, values, set } = props.form;
  return (
    <>
      <div class="columns">
        <SelectField
          label="Table"
          value={table}
          options={optionsOf(tables)}
          onChange={(chosen) => set({ table: chosen, sql: undefined })}
        />
        {Object.entries(values).map(([name, text]) => (
          <TextField
            key={name}
            label={`Value of ${name}`}
            {...(name === 'subject.groups' && { hint: 'Separated by commas' })}
            value={text}
            onChange={(typed) => set({ values: { ...values, [name]: typed } })}
          />
        ))}
      </div>
      <Field label="Query">
        {(id) => (
          <textarea
            id={id}
            rows={2}
            spellcheck={false}
            value={trial.sql ?? ''}
            onInput={(event) => set({ sql: event.currentTarget.value })}
          />
        )}
      </Field>
    </>
  );
}

function RowsTable(props: { found: FirstRows }): JSX.Element {
  const { columns, rows, more } = props.found;
  if (rows.length === 0) return <p>No rows.</p>;
  return (
    <>
      <Table label="First rows" columns={columns.map(visible)}>
        {rows.map((row, index) => (
          <tr key={index}>
            {row.map((value, at) => (
              <td key={at} class="wrap">
                <Name text={cellOf(value).text.slice(0, 200)} />
              </td>
            ))}
          </tr>
        ))}
      </Table>
      {more && <p class="muted">The first {MAX_ROWS} rows.</p>}
    </>
  );
}

interface RowsState {
  readonly found?: FirstRows;
  readonly error?: string;
}

/** The first rows, on request. They are gone when the query changes. */
function Rows(props: { preview: PolicyPreview }): JSX.Element {
  const { preview } = props;
  const [{ found, error }, setState] = useState<RowsState>({});
  const abort = useRef<AbortController | undefined>(undefined);
  useEffect(() => () => abort.current?.abort(), []);
  const show = async (): Promise<void> => {
    const own = new AbortController();
    abort.current = own;
    const state = await firstRows(preview, own.signal).then(
      (rows): RowsState => ({ found: rows }),
      (failure: unknown): RowsState => ({ error: messageOfError(failure) }),
    );
    if (!own.signal.aborted) setState(state);
  };
  return (
    <>
      <div class="row">
        <BusyButton onPress={show}>Show the first rows</BusyButton>
        <span class="hint">This runs the query as you: you see no row that you may not read yourself.</span>
      </div>
      <ErrorNote message={error} />
      {found && <RowsTable found={found} />}
    </>
  );
}

function Printed(props: { preview: PolicyPreview }): JSX.Element | null {
  const { sql, refusal, mayRun } = props.preview;
  if (refusal !== undefined)
    return (
      <p class="note note-warn" role="status">
        <Prose text={`Refused: ${refusal}.`} />
      </p>
    );
  if (sql === undefined) return null;
  return (
    <>
      <p class="label">What the engine gets</p>
      <pre class="printed" aria-live="polite">
        {visibleText(sql)}
      </pre>
      {mayRun === true ? (
        <Rows key={sql} preview={props.preview} />
      ) : (
        <p class="hint">You may not query this table, so no rows can be shown.</p>
      )}
    </>
  );
}

/** What becomes of a query by the document as it is in the form. */
export function Preview(props: { form: TrialForm; check: Check }): JSX.Element {
  const { form, check } = props;
  const { checked } = check;
  const id = useId();
  return (
    <section aria-labelledby={id}>
      <h3 id={id}>Preview</h3>
      {form.table === undefined ? (
        <p class="muted">No statement allows Query on a table that you can see.</p>
      ) : (
        <>
          <TrialFields form={form} />
          <ErrorNote message={check.error} retry={check.retry} />
          {checked?.denied !== undefined && (
            <p class="note" role="status">
              <Prose text={`No preview: ${checked.denied}`} />
            </p>
          )}
          {checked?.invalid !== undefined && (
            <p class="note note-warn" role="status">
              The document has an error, which is marked above.
            </p>
          )}
          {checked?.preview && <Printed preview={checked.preview} />}
        </>
      )}
    </section>
  );
}
