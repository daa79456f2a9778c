import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { CodeEditor } from '../../components/code-editor.tsx';
import { call } from '../../lib/api.ts';
import type { TableNames } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { completePolicy, locate, unknownTables } from './policy-assist.ts';

/**
 * The editor of a policy document, with completion, markers for syntax errors and errors of the gateway, and warnings for tables that the caller
 * cannot see.
 */
export function DocumentEditor(props: {
  value: string;
  revision?: string;
  onChange: (value: string) => void;
  serverError: string | undefined;
}): JSX.Element {
  const { serverError } = props;
  // The names serve for suggestions and warnings: a user who may not list the tables can write any name.
  const tables = useData('table-names', (signal) => call<TableNames>('/tables', { signal }));
  const names = useMemo(() => new Set(tables.value?.tables ?? []), [tables.value]);
  return (
    <div class="field">
      <span class="label" aria-hidden="true">
        Document
      </span>
      <CodeEditor
        value={props.value}
        revision={props.revision}
        onChange={props.onChange}
        label="Policy document"
        language="json"
        completions={(context) => completePolicy(context, names)}
        problem={`${serverError ?? ''}/${names.size}`}
        lint={(text) => [
          ...(serverError === undefined ? [] : locate(text, serverError)),
          ...unknownTables(text, names),
        ]}
      />
    </div>
  );
}
