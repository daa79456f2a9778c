import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { BusyButton, DangerButton, Dialog, ErrorNote, Field, Loading } from '../../components/basics.tsx';
import { CodeEditor } from '../../components/code-editor.tsx';
import { call, encodeSrn, messageOfError, rbac } from '../../lib/api.ts';
import { prettyJson } from '../../lib/format.ts';
import { setQuery, useLocation } from '../../lib/router.ts';
import type { Policy, PolicySummary } from '../../lib/types.ts';
import { useData } from '../../lib/use-data.ts';
import { Authorship, isPredefined, MasterDetail } from './master-detail.tsx';
import { completePolicy, locate } from './policy-assist.ts';

const EXAMPLE = prettyJson({
  version: 'v1',
  statements: [{ effect: 'allow', actions: ['Query'], resources: ['srn2:table#events'] }],
});

/** The document as text, with completion and with errors at the line, ours and the gateway's. */
function DocumentEditor(props: {
  value: string;
  onChange: (value: string) => void;
  refusal: string | undefined;
}): JSX.Element {
  const { refusal } = props;
  return (
    <CodeEditor
      value={props.value}
      onChange={props.onChange}
      label="Policy document"
      language="json"
      completions={completePolicy}
      problem={refusal}
      lint={(text) => (refusal === undefined ? [] : locate(text, refusal))}
    />
  );
}

function NewPolicy(props: { onDone: (name: string | undefined) => void }): JSX.Element {
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [text, setText] = useState(EXAMPLE);
  const [error, setError] = useState<string>();
  const create = async (): Promise<void> => {
    try {
      await call(rbac('/policies'), { method: 'POST', body: { name, description, policyDocumentJson: text } });
      props.onDone(name);
    } catch (failure) {
      setError(messageOfError(failure));
    }
  };
  return (
    <Dialog title="New policy" onClose={() => props.onDone(undefined)} wide>
      <Field label="Name" hint="Lower-case letters, digits, - and . ; it cannot be changed later">
        {(id, hint) => (
          <input
            id={id}
            aria-describedby={hint}
            required
            value={name}
            onInput={(event) => setName(event.currentTarget.value)}
          />
        )}
      </Field>
      <Field label="Description">
        {(id) => <input id={id} value={description} onInput={(event) => setDescription(event.currentTarget.value)} />}
      </Field>
      <DocumentEditor
        value={text}
        onChange={(value) => {
          setText(value);
          setError(undefined);
        }}
        refusal={error}
      />
      <ErrorNote message={error} />
      <BusyButton class="primary" onPress={create} disabled={name === ''}>
        Create
      </BusyButton>
    </Dialog>
  );
}

/** Two spaces a level, so that a line holds one thing and an error has a line. */
function pretty(text: string): string {
  try {
    return prettyJson(JSON.parse(text));
  } catch {
    return text;
  }
}

function PolicyDetail(props: { name: string; onChanged: () => void }): JSX.Element {
  const path = rbac(`/policies/${encodeSrn(`srn2:policy#${props.name}`)}`);
  const data = useData(path, (signal) => call<Policy>(path, { signal }));
  const [text, setText] = useState<string>();
  const [description, setDescription] = useState<string>();
  const [error, setError] = useState<string>();
  if (!data.value)
    return data.error === undefined ? (
      <Loading what="the policy" />
    ) : (
      <ErrorNote message={data.error} retry={data.reload} />
    );
  const policy = data.value;
  const fixed = isPredefined(policy);
  const attempt = async (work: () => Promise<unknown>): Promise<boolean> => {
    try {
      await work();
      setError(undefined);
      return true;
    } catch (failure) {
      setError(messageOfError(failure));
      return false;
    } finally {
      props.onChanged();
    }
  };
  const save = async (): Promise<void> => {
    const body = {
      description: description ?? policy.description ?? '',
      policyDocumentJson: text ?? policy.policyDocumentJson,
    };
    if (await attempt(() => call(path, { method: 'PUT', body }))) {
      setText(undefined);
      setDescription(undefined);
      data.reload();
    }
  };
  return (
    <article class="card">
      <h2>{props.name}</h2>
      <Authorship resource={policy} />
      <Field label="Description">
        {(id) => (
          <input
            id={id}
            value={description ?? policy.description ?? ''}
            onInput={(event) => setDescription(event.currentTarget.value)}
          />
        )}
      </Field>
      <DocumentEditor
        value={text ?? pretty(policy.policyDocumentJson)}
        onChange={(value) => {
          setText(value);
          setError(undefined);
        }}
        refusal={error}
      />
      <ErrorNote message={error} />
      <footer class="row">
        <BusyButton
          class="primary"
          onPress={save}
          disabled={fixed || (text === undefined && description === undefined)}
        >
          Save
        </BusyButton>
        <DangerButton
          label="Delete the policy"
          disabled={fixed}
          onConfirm={async () => {
            if (await attempt(() => call(path, { method: 'DELETE' }))) setQuery({ name: undefined });
          }}
        />
      </footer>
    </article>
  );
}

export function PoliciesTab(): JSX.Element {
  const { query } = useLocation();
  const chosen = query.get('name') ?? undefined;
  const list = useData('policies', (signal) => call<PolicySummary[]>(rbac('/policies'), { signal }));
  const [adding, setAdding] = useState(false);
  return (
    <MasterDetail
      what="Policies"
      items={list.value?.map((policy) => ({ name: policy.name, note: policy.description }))}
      error={list.error}
      reload={list.reload}
      search={query.get('search') ?? ''}
      chosen={chosen}
      actions={
        <button type="button" class="primary" onClick={() => setAdding(true)}>
          New policy
        </button>
      }
    >
      {chosen === undefined ? (
        <p class="muted">Choose a policy, or make one.</p>
      ) : (
        <PolicyDetail key={chosen} name={chosen} onChanged={list.reload} />
      )}
      {adding && (
        <NewPolicy
          onDone={(name) => {
            setAdding(false);
            if (name !== undefined) {
              list.reload();
              setQuery({ name });
            }
          }}
        />
      )}
    </MasterDetail>
  );
}
