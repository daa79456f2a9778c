import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { BusyButton, DangerButton, ErrorNote, Loaded, Prose } from '../../components/basics.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { TextField } from '../../components/fields.tsx';
import { call, callTagged, encodeSrn, rbac, type Tagged } from '../../lib/api.ts';
import { prettyJson } from '../../lib/format.ts';
import { setQuery } from '../../lib/router.ts';
import type { Policy, PolicySummary } from '../../lib/types.ts';
import { useChange } from '../../lib/use-change.ts';
import { useData } from '../../lib/use-data.ts';
import { useDraft } from '../../lib/use-draft.ts';
import { Authorship, isPredefined, MasterDetail } from './master-detail.tsx';
import { NewNamed } from './new-resource.tsx';
import { completePolicy, locate } from './policy-assist.ts';

const EXAMPLE = prettyJson({
  version: 'v1',
  statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'] }],
});

/** The editor of a policy document, with completion and markers for syntax errors and errors of the gateway. */
function DocumentEditor(props: {
  value: string;
  revision?: string;
  onChange: (value: string) => void;
  serverError: string | undefined;
}): JSX.Element {
  const { serverError } = props;
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
        completions={completePolicy}
        problem={serverError}
        lint={(text) => (serverError === undefined ? [] : locate(text, serverError))}
      />
    </div>
  );
}

function NewPolicy(props: { onDone: (name: string | undefined) => void }): JSX.Element {
  const [text, setText] = useState(EXAMPLE);
  return (
    <NewNamed title="New policy" path="/policies" wide body={{ policyDocumentJson: text }} onDone={props.onDone}>
      {(serverError, clearError) => (
        <DocumentEditor
          value={text}
          onChange={(value) => {
            setText(value);
            clearError();
          }}
          serverError={serverError}
        />
      )}
    </NewNamed>
  );
}

/** Formats the document, so that each error has its own line. */
function pretty(text: string): string {
  try {
    return prettyJson(JSON.parse(text));
  } catch {
    return text;
  }
}

function PolicyDetail(props: { name: string; onChanged: () => void }): JSX.Element {
  const path = rbac(`/policies/${encodeSrn(`srn2:policy#${props.name}`)}`);
  const data = useData(path, (signal) => callTagged<Policy>(path, { signal }));
  const [text, setText, typedText] = useDraft(`policy/${props.name}/document`);
  const [description, setDescription, typedDescription] = useDraft(`policy/${props.name}/description`);
  /** The version on which the unsaved input is based. */
  const [version, setVersion] = useDraft(`policy/${props.name}/version`);
  const [discards, setDiscards] = useState(0);
  /** The version that the editor shows. It stays while there is unsaved text. */
  const shownVersion = useRef<string | undefined>(undefined);
  const { error, attempt, send, clearError } = useChange(props.onChanged);
  const [warnings, setWarnings] = useState<readonly string[]>([]);
  const save = async (policy: Tagged<Policy>): Promise<void> => {
    const body = {
      description: description ?? policy.description ?? '',
      policyDocumentJson: text ?? policy.policyDocumentJson,
    };
    const headers = { 'if-match': version ?? policy.etag };
    let saved: Tagged<Policy> | undefined;
    await attempt(async () => {
      saved = await callTagged<Policy>(path, { method: 'PUT', body, headers });
    });
    if (!saved) return;
    setWarnings(saved.warnings ?? []);
    // Input since the request was sent is unsaved, and based on the saved version.
    if (typedText() === text) setText(undefined);
    if (typedDescription() === description) setDescription(undefined);
    setVersion(typedText() === undefined && typedDescription() === undefined ? undefined : saved.etag);
    data.replace(saved);
  };
  return (
    <Loaded data={data} what="the policy">
      {(policy) => {
        const fixed = isPredefined(policy);
        if (text === undefined) shownVersion.current = policy.etag;
        return (
          <article class="card">
            <h2>{props.name}</h2>
            <Authorship resource={policy} />
            <TextField
              label="Description"
              value={description ?? policy.description ?? ''}
              onChange={(value) => {
                setDescription(value);
                setVersion(version ?? policy.etag);
              }}
            />
            <DocumentEditor
              value={text ?? pretty(policy.policyDocumentJson)}
              revision={`${shownVersion.current} ${discards}`}
              onChange={(value) => {
                setText(value);
                setVersion(version ?? policy.etag);
                clearError();
              }}
              serverError={error}
            />
            <ErrorNote message={error} />
            {warnings.length > 0 && (
              <ul class="note" role="status">
                {warnings.map((warning) => (
                  <li key={warning}>
                    <Prose text={warning} />
                  </li>
                ))}
              </ul>
            )}
            <footer class="row">
              <BusyButton
                class="primary"
                onPress={() => save(policy)}
                disabled={fixed || (text === undefined && description === undefined)}
              >
                Save
              </BusyButton>
              {(text !== undefined || description !== undefined) && (
                <button
                  type="button"
                  onClick={() => {
                    setText(undefined);
                    setDescription(undefined);
                    setVersion(undefined);
                    setDiscards(discards + 1);
                    data.reload();
                    clearError();
                  }}
                >
                  Discard changes
                </button>
              )}
              <DangerButton
                label="Delete the policy"
                disabled={fixed}
                onConfirm={async () => {
                  if (await send(path, 'DELETE')) setQuery({ name: undefined });
                }}
              />
            </footer>
          </article>
        );
      }}
    </Loaded>
  );
}

export function PoliciesTab(): JSX.Element {
  const list = useData('policies', (signal) => call<PolicySummary[]>(rbac('/policies'), { signal }));
  return (
    <MasterDetail
      what="Policies"
      one="policy"
      list={list}
      item={({ name, description }) => ({ name, note: description })}
      renderNew={(onDone) => <NewPolicy onDone={onDone} />}
      detail={(name) => <PolicyDetail key={name} name={name} onChanged={list.reload} />}
    />
  );
}
