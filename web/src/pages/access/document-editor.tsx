import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { CodeEditor } from '../../components/code-editor.tsx';
import { call } from '../../lib/api.ts';
import type { TableNames } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { useDraftOr } from '../../lib/use-draft.ts';
import { completePolicy, locate, unknownTables } from './policy-assist.ts';
import { PolicyForm } from './policy-form/policy-form.tsx';

interface DocumentEditorProps {
  value: string;
  revision?: string;
  onChange: (value: string) => void;
  serverError: string | undefined;
}

const VIEWS = ['JSON', 'Form'] as const;
type View = (typeof VIEWS)[number];

/** The document as text, with completion, markers for syntax errors and errors of the gateway, and warnings for tables that the caller cannot see. */
function JsonEditor(props: DocumentEditorProps & { tables: readonly string[] }): JSX.Element {
  const { serverError, tables } = props;
  const names = useMemo(() => new Set(tables), [tables]);
  return (
    <CodeEditor
      value={props.value}
      revision={props.revision}
      onChange={props.onChange}
      label="Policy document"
      language="json"
      completions={(context) => completePolicy(context, names)}
      problem={`${serverError ?? ''}/${names.size}`}
      lint={(text) => [...(serverError === undefined ? [] : locate(text, serverError)), ...unknownTables(text, names)]}
    />
  );
}

const NONE: readonly string[] = [];

/** The editor of a policy document: one text, shown as JSON or as a form. */
export function DocumentEditor(props: DocumentEditorProps): JSX.Element {
  const [view, setView] = useDraftOr<View>('policy-view', 'JSON');
  // The names serve for suggestions and warnings: a user who may not list the tables can write any name.
  const data = useData('table-names', (signal) => call<TableNames>('/tables', { signal }));
  const tables = data.value?.tables ?? NONE;
  return (
    <div class="field">
      <div class="row document-head">
        <span class="label">Document</span>
        <div class="chips" role="group" aria-label="Show the document as">
          {VIEWS.map((one) => (
            <button key={one} type="button" class="chip small" aria-pressed={one === view} onClick={() => setView(one)}>
              {one}
            </button>
          ))}
        </div>
      </div>
      {view === 'Form' ? (
        <PolicyForm text={props.value} onChange={props.onChange} serverError={props.serverError} tables={tables} />
      ) : (
        <JsonEditor {...props} tables={tables} />
      )}
    </div>
  );
}
